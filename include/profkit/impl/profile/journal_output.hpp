// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "../../profile_builder.hpp"
#include "archive_reader.hpp"
#include "file_access.hpp"
#include "journal_format.hpp"
#include "own_memory.hpp"
#include "record_fields.hpp"
#include "validate.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Reads one file of a journal, frame by frame, while it grows. Validates every number.
class journal_file {
 public:
  /// @return false if the file is too short.
  /// @throws profkit::error if the file is not a journal or has another format.
  bool read_beginning(std::ifstream& file, std::uint64_t size) {
    if (size < beginning) return false;
    file.clear();
    file.seekg(0);
    bool const is_journal = reads_magic(file, journal_magic);
    if (!file) return false;  // the file was truncated in the meantime
    if (!is_journal) throw error{"it is not a profkit journal"};
    format_ = check_format(number_at<std::uint32_t>(file, journal_magic.size()), profile_format);
    position_ = std::max(position_, beginning);
    return true;
  }

  /// Reads the next frame. A `journal_head` replaces the profile by its member `waiting`.
  /// @return false, with `into` unchanged, if there is no complete frame.
  /// @throws profkit::error if a complete frame has invalid positions.
  bool read_frame(std::ifstream& file, std::uint64_t size, profile& into) {
    if (size - position_ < frame_header_bytes) return false;
    auto const header = number_at<frame_header>(file, position_);
    std::uint64_t const left = size - position_ - frame_header_bytes;
    bool const is_head = header.kind == frame_kind::head && !has_read();
    bool const is_open = header.kind == frame_kind::open && has_read();
    bool const has_records = header.kind == frame_kind::part || header.kind == frame_kind::last;
    bool const is_known = has_records || header.kind == frame_kind::head || header.kind == frame_kind::open;
    bool const is_skipped = !is_known && has_read() && format_.addition > profile_format.addition;  // a newer version added this kind
    if (!file || !(is_head || is_open || has_records || is_skipped) || header.size > left || !has_right_checksum(file, header))
      return false;
    file.seekg(static_cast<std::streamoff>(position_ + frame_header_bytes));
    bool const is_whole = is_skipped || (is_head   ? read_head(file, header.size, into)
                                         : is_open ? read_open(file, header.size, into)
                                                   : read_records(file, header.size, into));
    if (!is_whole) return false;
    known_frame const known{position_, header};
    if (!first_) first_ = known;
    last_ = known;
    position_ += frame_header_bytes + header.size;
    is_complete_ = header.kind == frame_kind::last;
    return true;
  }

  /// Validates tables and single values. To be called after frames were read.
  void check_tables(profile const& read) const { check_.tables(read); }

  /// Continues with the validation state of the previous file.
  void follow(journal_file const& before) { check_ = before.check_; }

  /// Whether a file is the one that was read so far. Compares its first frame, which contains time and process id, and the last frame read.
  [[nodiscard]] bool is_same_file(std::ifstream& file, std::uint64_t size) const {
    auto const is_there = [&](known_frame const& frame) {
      auto const found = number_at<frame_header>(file, frame.position);
      return found.kind == frame.header.kind && found.checksum == frame.header.checksum && found.size == frame.header.size;
    };
    return size >= position_ && is_there(*first_) && is_there(*last_);
  }

  /// Whether a frame was read.
  [[nodiscard]] bool has_read() const noexcept { return last_.has_value(); }
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }
  /// The position after the last complete frame.
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] format_version const& format() const noexcept { return format_; }
  [[nodiscard]] std::uint64_t forgotten() const noexcept { return forgotten_; }
  /// What was open at the last frame of that kind; n/a without one. Ranges may have ended in frames after it.
  [[nodiscard]] std::optional<journal_open> const& open() const noexcept { return open_; }
  /// `journal_head::figures`; empty without a head, and on the second call.
  [[nodiscard]] own_string take_figures() noexcept { return std::exchange(figures_, {}); }

 private:
  struct known_frame {
    std::uint64_t position = 0;
    frame_header header;
  };

  static constexpr std::uint64_t beginning = journal_magic.size() + sizeof(std::uint32_t);

  /// @return false if the bytes of a frame are too few, too many or invalid.
  template <class Read>
  bool read_content(std::ifstream& file, std::uint64_t size, Read const& read) const {
    try {
      archive_reader archive{file, size};
      archive.set_format(format_, profile_format);
      read(archive);
      archive.skip_the_rest();
      return true;
    } catch (error const&) {
      return false;
    }
  }

  /// Reads the output of `journal_encoder::put_changes`.
  bool read_records(std::ifstream& file, std::uint64_t size, profile& into) {
    profile part;
    std::array<bool, profile_members> are_there{};
    bool const is_whole = read_content(file, size, [&](archive_reader& archive) {
      bool* is_there = are_there.data();
      for_each_member(part, into, [&](auto& member, auto const& known) {
        *is_there = !archive.lacks_the_rest();
        if (*is_there && !is_growing<std::decay_t<decltype(known)>>) archive(*is_there);
        if (*is_there++) archive(member);
      });
    });
    if (!is_whole) return false;
    bool const* is_there = are_there.data();
    for_each_member(part, into, [&](auto& from, auto& to) {
      using member = std::decay_t<decltype(to)>;
      if (!*is_there++) return;
      if constexpr (is_growing<member>) {
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
      } else {
        to = std::move(from);
      }
    });
    check_.records(part, into);  // records with positions are plain values, so moving leaves them intact
    return true;
  }

  bool read_head(std::ifstream& file, std::uint64_t size, profile& into) {
    journal_head head;
    if (!read_content(file, size, [&](archive_reader& archive) { archive(head); })) return false;
    check_.records(head.waiting, head.waiting);
    into = std::move(head.waiting);
    number_ = head.number;
    forgotten_ = head.forgotten;
    figures_ = std::move(head.figures);
    return true;
  }

  bool read_open(std::ifstream& file, std::uint64_t size, profile const& tables) {
    journal_open read;
    if (!read_content(file, size, [&](archive_reader& archive) { archive(read); })) return false;
    for (open_range_record const& each : read.ranges) record_check::record(each, "an open scope", tables);
    for (collective_record const& each : read.collectives) record_check::record(each, "an open collective", tables);
    open_ = std::move(read);
    return true;
  }

  /// @param file positioned after the header.
  [[nodiscard]] static bool has_right_checksum(std::ifstream& file, frame_header const& header) {
    checksum sum;
    add_header(sum, header);
    constexpr std::uint64_t piece = std::uint64_t{1} << 16U;
    own_string bytes;
    for (std::uint64_t rest = header.size; rest > 0; rest -= bytes.size()) {
      bytes.resize(static_cast<std::size_t>(std::min(rest, piece)));
      if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return false;
      sum.add(bytes);
    }
    return sum.value() == header.checksum;
  }

  template <class Number>
  static Number number_at(std::ifstream& file, std::uint64_t position) {
    char bytes[sizeof(Number)] = {};
    file.clear();
    file.seekg(static_cast<std::streamoff>(position));
    file.read(bytes, sizeof bytes);
    Number result;
    std::memcpy(&result, bytes, sizeof result);
    return result;
  }

  format_version format_;
  std::uint64_t position_ = 0;
  bool is_complete_ = false;
  std::optional<known_frame> first_;
  std::optional<known_frame> last_;
  std::uint64_t number_ = 0;
  std::uint64_t forgotten_ = 0;
  own_string figures_;
  std::optional<journal_open> open_;
  record_check check_;
};

/// The files of a journal that is being written: FILE and the previous file, FILE.1. A symbolic link FILE is followed once, at the start.
/// A file with one of these names is renamed or replaced only if it is a journal. So no file of the program is lost.
///
/// The open file is locked with `flock` while this process lives; the kernel releases the lock at its end. A process that inherited the
/// option finds the file locked and appends its process id to the name. On file systems without locks, the file counts as free.
class journal_output {
 public:
  /// Creates the file. A journal with that name is kept as `FILE.before`, unless another process writes it.
  /// @throws profkit::error that names the file and states why it cannot be created.
  explicit journal_output(std::string const& file) : file_{target_of_links(absolute_path(file)).string()} {
    constexpr int max_tries = 100;
    for (int tries = 0; !take_file(); ++tries) {
      if (tries == max_tries) cannot_make("other processes keep replacing it");
    }
    close_in_children();
  }

  journal_output(journal_output const&) = delete;
  journal_output& operator=(journal_output const&) = delete;
  ~journal_output() { close(); }

  /// @throws profkit::error if the write failed, or if FILE is not the file that this object wrote any more: removed, renamed, cut, or
  /// changed by others.
  void write(std::string_view bytes) {
    check_file();
    int const reason = write_all(descriptor_, bytes);
    if (reason != 0)
      throw error{"cannot write " + shown_path(file_) + ": " + std::generic_category().message(reason) + "; it holds what came before"};
    written_ += bytes.size();
  }

  /// Renames FILE to FILE.1, replacing an older FILE.1, and continues in a new FILE. A file with the name FILE exists at every moment.
  /// @throws profkit::error as `write`, or if the new file cannot be created; FILE is unchanged then.
  void begin_next_file(std::string_view beginning) {
    check_file();
    replace_file(beginning);
    written_ = beginning.size();
  }

  /// Releases the lock.
  void close() noexcept {
    open_journal().store(nullptr);
    if (is_still(descriptor_, opened_)) ::close(descriptor_);
    descriptor_ = -1;
  }

  /// The name, as an absolute path.
  [[nodiscard]] std::string const& file() const noexcept { return file_; }
  /// Size of FILE in bytes.
  [[nodiscard]] std::uint64_t size() const noexcept { return written_; }

 private:
  static constexpr int open_flags = O_RDWR | O_CREAT | O_APPEND;

  [[noreturn]] void cannot_make(std::string const& why, int code = 0) const {
    throw error{"PROFKIT: cannot create the journal " + shown_path(file_) + ": " + why, code};
  }
  [[noreturn]] void cannot_make() const { cannot_make(std::generic_category().message(errno), errno); }

  /// Opens and locks the file.
  /// @return false if the name must be tried again, because another process has the file or changed what the name refers to.
  [[nodiscard]] bool take_file() {
    if (::stat(file_.c_str(), &opened_) == 0 && !S_ISREG(opened_.st_mode)) cannot_make("it exists and is not a regular file");
    own_descriptor file{open_file(file_.c_str(), open_flags)};
    if (file.number < 0 || ::fstat(file.number, &opened_) != 0) cannot_make();
    if (!S_ISREG(opened_.st_mode)) return false;
    if (::flock(file.number, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      file_ += "." + std::to_string(::getpid());
      return false;
    }
    struct ::stat named {};
    if (::stat(file_.c_str(), &named) != 0 || !is_same_file(named, opened_) || ::fstat(file.number, &opened_) != 0) return false;
    if (opened_.st_size != 0) {
      if (!is_journal(file_)) cannot_make("it exists and is not a journal of profkit. Choose another name");
      keep_old_journal();
      return false;
    }
    descriptor_ = std::exchange(file.number, -1);
    return true;
  }

  /// Renames it to FILE.before, and the previous file to FILE.before.1.
  void keep_old_journal() const {
    std::string const kept = file_ + ".before";
    for (std::string const& each : {kept, earlier_journal(kept)}) {
      if (is_there(each) && !is_journal(each)) cannot_make(shown_path(each) + " exists and is not a journal of profkit");
    }
    if (::rename(file_.c_str(), kept.c_str()) != 0)
      cannot_make("it exists and cannot be renamed: " + std::generic_category().message(errno));
    std::string const earlier = earlier_journal(file_);
    bool const is_kept = is_journal(earlier) && ::rename(earlier.c_str(), earlier_journal(kept).c_str()) == 0;
    if (!is_kept) ::unlink(earlier_journal(kept).c_str());
  }

  [[nodiscard]] static bool is_there(std::string const& file) noexcept {
    struct ::stat found {};
    return ::lstat(file.c_str(), &found) == 0;
  }

  /// Whether it is a regular file that begins like a journal, or like one whose first write was cut off.
  [[nodiscard]] static bool is_journal(std::string const& file) {
    own_string const beginning = part_of_file(file, static_cast<::off_t>(journal_magic.size()));
    return !beginning.empty() && journal_magic.compare(0, beginning.size(), beginning) == 0;
  }

  /// @throws profkit::error that names the file that cannot be created; FILE is unchanged.
  void replace_file(std::string_view beginning) {
    std::string const next = file_ + ".next";
    std::string const earlier = earlier_journal(file_);
    auto const check = [](bool is_right, std::string const& name, int reason) {
      if (!is_right)
        throw error{"cannot create " + shown_path(name) + ": " + std::generic_category().message(reason) + "; it holds what came before",
                    reason};
    };
    struct ::stat found {};
    bool const has_next = ::lstat(next.c_str(), &found) == 0;
    for (std::string const& each : {next, earlier}) {
      bool const is_unused = each == next && has_next && S_ISREG(found.st_mode) && found.st_size == 0;  // of a killed process
      if (is_there(each) && !is_unused && !is_journal(each))
        throw error{"cannot create " + shown_path(each) + ": it exists and is not a journal of profkit; it holds what came before"};
    }
    own_descriptor file{open_file(next.c_str(), open_flags | O_NOFOLLOW)};
    check(file.number >= 0, next, errno);
    check(::flock(file.number, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK, next, EWOULDBLOCK);
    int failure = ::ftruncate(file.number, 0) != 0 ? errno : write_all(file.number, beginning);
    if (failure == 0 && ::fstat(file.number, &found) != 0) failure = errno;
    if (failure == 0 && !keep_as_earlier(earlier)) failure = errno;
    if (failure == 0 && ::rename(next.c_str(), file_.c_str()) != 0) failure = errno;
    if (failure != 0) ::unlink(next.c_str());
    check(failure == 0, next, failure);
    ::close(descriptor_);
    descriptor_ = std::exchange(file.number, -1);
    opened_ = found;
  }

  /// Links the file to both names until the next file takes the first name. On file systems without links, FILE is missing for a moment.
  [[nodiscard]] bool keep_as_earlier(std::string const& earlier) const noexcept {
    ::unlink(earlier.c_str());
    return ::link(file_.c_str(), earlier.c_str()) == 0 || ::rename(file_.c_str(), earlier.c_str()) == 0;
  }

  /// @throws profkit::error if the open file does not have its name, or not the size that this object wrote.
  void check_file() const {
    struct ::stat now {};
    struct ::stat named {};
    std::string const name = shown_path(file_);
    if (::fstat(descriptor_, &now) != 0 || !is_same_file(now, opened_))
      throw error{"the program closed " + name + "; it holds what came before"};
    if (now.st_nlink == 0) throw error{name + " was removed or replaced while the session wrote it"};
    auto const size = static_cast<std::uint64_t>(now.st_size);
    if (size < written_) throw error{name + " was cut while the session wrote it"};
    if (size > written_) throw error{"another program wrote into " + name + "; it holds what came before"};
    bool const is_moved = ::stat(file_.c_str(), &named) == 0 ? !is_same_file(named, opened_) : errno == ENOENT || errno == ENOTDIR;
    if (is_moved) throw error{name + " was renamed while the session wrote it; it holds what came before"};
  }

  static std::atomic<journal_output const*>& open_journal() noexcept {
    static std::atomic<journal_output const*> value{nullptr};
    return value;
  }

  /// A child of a `fork` that outlives this process must not hold the lock.
  void close_in_children() const noexcept {
    open_journal().store(this);
    static int const registered = ::pthread_atfork(nullptr, nullptr, [] {
      journal_output const* const of_parent = open_journal().exchange(nullptr);
      if (of_parent != nullptr && is_still(of_parent->descriptor_, of_parent->opened_)) ::close(of_parent->descriptor_);
    });
    static_cast<void>(registered);
  }

  std::string file_;
  int descriptor_ = -1;
  struct ::stat opened_ {};
  std::uint64_t written_ = 0;  ///< size of the file in bytes
};

}  // namespace PROFKIT_NAMESPACE::detail
