// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "../../../error.hpp"
#include "../../../version.hpp"
#include "../../profile/file_access.hpp"
#include "../../record/process_identity.hpp"
#include "captured_records.hpp"

namespace PROFKIT_NAMESPACE::detail {

// The control socket of a session (`PROFKIT=control`): a Unix stream socket FOLDER/PID. FOLDER is $XDG_RUNTIME_DIR/profkit, or
// /tmp/profkit-UID if that variable names no private folder of the user.
//
// A client sends one line and receives one line; then the session closes the connection. Words are separated by one space.
//
//     profkit-control 1 status
//     profkit-control 1 snapshot [profile]
//     profkit-control 1 capture steps=N [from=STEP] [kernels] [samples=HERTZ]
//
//     profkit-control 1 ok [KEY=VALUE]...       bytes up to the space, control characters, "%" and those from 127 are "%XX"
//     profkit-control 1 error TEXT
//
// Later versions may add requests, words of requests, and keys. Clients ignore unknown keys. A session refuses what it does not know,
// because otherwise it would do something else than was asked.
//
// The answer to `snapshot` carries descriptors of memory files (SCM_RIGHTS): the bytes of `summary.profkit`, and with `profile` a journal.
// That to `capture` carries a journal, and follows the last of its steps. If the client disconnects before, the capture ends. A request
// names no file, and the session writes none for a client.

inline constexpr std::string_view control_protocol = "profkit-control 1 ";

/// Limits of the control socket.
struct control_limits {
  static constexpr std::size_t max_request_bytes = 4096;
  static constexpr std::size_t max_connections = 4;                            ///< further ones wait in the queue of the system
  static constexpr int max_accepted = 8;                                       ///< connections accepted in one round
  static constexpr std::chrono::seconds max_wait_for_request{5};               ///< a client that has sent no line by then is disconnected
  static constexpr std::uint64_t max_steps = 100'000;                          ///< of a capture
  static constexpr std::uint64_t max_capture_bytes = std::uint64_t{1} << 30U;  ///< a larger capture ends early
  static constexpr std::chrono::seconds max_wait_for_kernels{2};  ///< after the last step, if the session collects kernels itself
  static constexpr int max_share_of_snapshots = 5;                ///< a snapshot is followed by this many times its time without one
};

/// A request of a client.
struct control_request {
  enum class kind { status, snapshot, capture };
  kind what = kind::status;
  bool wants_profile = false;            ///< of a snapshot
  std::uint64_t steps = 0;               ///< of a capture: number of steps, from 1
  std::uint64_t from = 0;                ///< of a capture: index of its first step; 0: the next one
  bool wants_kernels = false;            ///< of a capture
  std::uint64_t samples_per_second = 0;  ///< of a capture; 0: no samples
};

/// Parses a line without its end.
/// @throws profkit::error that says what is wrong.
inline control_request parse_control_request(std::string_view line) {
  if (line.substr(0, control_protocol.size()) != control_protocol)
    throw error{"a request begins with \"" + std::string{control_protocol} + "\": this session has profkit " + version};
  line.remove_prefix(control_protocol.size());
  auto const take = [&](std::string_view word) {
    bool const is_there = line.substr(0, word.size()) == word;
    if (is_there) line.remove_prefix(word.size());
    return is_there;
  };
  auto const take_number = [&](std::uint64_t max) {
    std::uint64_t number = 0;
    char const* const end = std::from_chars(line.data(), line.data() + line.size(), number).ptr;
    auto const size = static_cast<std::size_t>(end - line.data());
    if (number < 1 || number > max || line.front() == '0') throw error{"a number of the request is not from 1 to " + std::to_string(max)};
    line.remove_prefix(size);
    return number;
  };
  control_request result;
  if (take("capture steps=")) {
    result.what = control_request::kind::capture;
    result.steps = take_number(control_limits::max_steps);
    if (take(" from=")) result.from = take_number(~std::uint64_t{0} - control_limits::max_steps);
    result.wants_kernels = take(" kernels");
    if (take(" samples=")) result.samples_per_second = take_number(10'000);
  } else if (take("snapshot")) {
    result.what = control_request::kind::snapshot;
    result.wants_profile = take(" profile");
  } else if (!take("status")) {
    throw error{"unknown request; valid requests: status, snapshot, capture"};
  }
  if (!line.empty()) throw error{std::string{"unknown words at the end of the request: this session has profkit "} + version};
  return result;
}

/// A value in an answer, without blanks and control characters.
inline std::string control_word(std::string_view value) {
  std::string result;
  for (char const each : value) {
    auto const byte = static_cast<unsigned char>(each);
    if (byte > ' ' && byte < 127 && byte != '%') {
      result += each;
      continue;
    }
    char code[4];
    static_cast<void>(std::snprintf(code, sizeof code, "%%%02X", unsigned{byte}));
    result += code;
  }
  return result;
}

/// Whether a file is a folder that only this user may change or read.
[[nodiscard]] inline bool is_private_folder(struct ::stat const& found, ::uid_t user) noexcept {
  return S_ISDIR(found.st_mode) && found.st_uid == user && (found.st_mode & 07777U) == 0700U;
}

/// The folders in which sessions of a user may have their sockets, the preferred one first.
/// @param runtime the value of XDG_RUNTIME_DIR; may be null.
inline std::vector<std::string> control_folders(char const* runtime, ::uid_t user) {
  std::vector<std::string> result;
  struct ::stat found {};
  if (runtime != nullptr && runtime[0] == '/' && ::lstat(runtime, &found) == 0 && is_private_folder(found, user))
    result.push_back(std::string{runtime} + "/profkit");
  result.push_back("/tmp/profkit-" + std::to_string(user));
  return result;
}

/// The address of a socket; nothing if the path is too long.
inline std::optional<::sockaddr_un> control_address(std::string const& path) noexcept {
  ::sockaddr_un result{};
  if (path.size() >= sizeof result.sun_path) return std::nullopt;
  result.sun_family = AF_UNIX;
  std::memcpy(result.sun_path, path.c_str(), path.size() + 1);
  return result;
}

/// Connects to a socket without waiting. @return a descriptor, or -1 with `errno`: ECONNREFUSED if no process listens.
inline int connect_to_control(::sockaddr_un const& address) noexcept {
  int const made = above_standard_streams(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made < 0 || ::connect(made, reinterpret_cast<::sockaddr const*>(&address), sizeof address) == 0) return made;
  int const reason = errno;
  ::close(made);
  errno = reason;
  return -1;
}

/// Whether the process at the other end of a connection is of a user, or of root.
[[nodiscard]] inline bool is_peer_of(int socket, ::uid_t user) noexcept {
  ::ucred peer{};
  ::socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == user || peer.uid == 0);
}

using control_files = std::vector<std::unique_ptr<own_descriptor>>;

/// What a session answers.
struct control_answer {
  std::string text;     ///< "ok ..." or "error ..."
  control_files files;  ///< in memory; at most two

  /// Adds a file in memory. @throws profkit::error if the system has no memory for it.
  void add_file(std::string_view bytes) {
    files.push_back(make_memory_file());
    append_to(*files.back(), bytes);
  }
};

/// Listens for clients, without waiting. Only the owner uses it.
class control_socket {
 public:
  control_socket() = default;
  control_socket(control_socket const&) = delete;
  control_socket& operator=(control_socket const&) = delete;
  ~control_socket() { close(); }

  /// @throws profkit::error that says why it cannot listen.
  void open() {
    user_ = ::geteuid();
    std::string const folder = control_folders(::secure_getenv("XDG_RUNTIME_DIR"), user_).front();
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) complain("cannot create " + folder, errno);
    struct ::stat found {};
    if (::lstat(folder.c_str(), &found) != 0) complain("cannot find " + folder, errno);
    if (!is_private_folder(found, user_))
      throw error{folder + " is not a folder of this user with mode 0700; remove it, or set XDG_RUNTIME_DIR to a folder with that mode"};
    path_ = folder + "/" + std::to_string(::getpid());
    std::string const new_path = path_ + ".new";
    std::optional<::sockaddr_un> const address = control_address(path_);
    std::optional<::sockaddr_un> const new_address = control_address(new_path);
    if (!new_address) throw error{"the path of the socket is too long: " + new_path};
    own_descriptor const other{connect_to_control(*address)};
    if (other.number >= 0) throw error{path_ + " belongs to another session that runs"};
    own_descriptor made{above_standard_streams(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
    if (made.number < 0) complain("cannot create a socket", errno);
    ::fchmod(made.number, 0600);  // the socket gets this mode when it is bound
    ::unlink(new_path.c_str());
    if (::bind(made.number, reinterpret_cast<::sockaddr const*>(&*new_address), sizeof *new_address) != 0)
      complain("cannot create " + new_path, errno);
    // Only a socket that listens gets its name: a client removes those that do not.
    bool const is_there =
        ::listen(made.number, 2 * int{control_limits::max_connections}) == 0 && ::rename(new_path.c_str(), path_.c_str()) == 0;
    if (!is_there) {
      int const reason = errno;
      ::unlink(new_path.c_str());
      complain("cannot listen on " + path_, reason);
    }
    process_ = identify_process();
    listening_.emplace(std::exchange(made.number, -1));
    close_in_children();
  }

  [[nodiscard]] bool is_open() const noexcept { return listening_.has_value(); }
  [[nodiscard]] std::string const& path() const noexcept { return path_; }

  /// Disconnects the clients and removes the socket. In the child of a `fork` it does nothing.
  void close() noexcept {
    if (!is_open() || !is_process(process_)) return;
    for (auto const& each : connections_) {
      if (each->is_waiting) send(*each, "error the session has ended", {});
    }
    connections_.clear();
    ::unlink(path_.c_str());
    listening_in_parent().store(nullptr);
    if (listening_->is_own()) ::shutdown(listening_->number, SHUT_RDWR);  // also ends the copy of a child that ran no fork handler
    listening_.reset();
  }

  /// Accepts clients and reads their requests. If the program has closed the socket, such as with all descriptors, it is not open
  /// afterwards.
  /// @param handle called with the number of the client and its line: returns the answer, or nothing if it comes later.
  /// @param leaves called with the number of a client that went away before its answer.
  template <class Handle, class Leave>
  void serve(Handle const& handle, Leave const& leaves) {
    if (!is_open() || !is_process(process_)) return;
    auto const now = std::chrono::steady_clock::now();
    accept_clients(now);
    for (std::size_t i = 0; i < connections_.size();) {
      connection& each = *connections_[i];
      bool const was_waiting = each.is_waiting;
      if (was_waiting ? is_connected(each) : read(each, now, handle)) {
        ++i;
        continue;
      }
      std::uint64_t const number = each.number;
      connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
      if (was_waiting) leaves(number);
    }
  }

  /// Answers a client whose answer comes later, and disconnects it. Does nothing if it went away.
  void answer(std::uint64_t number, control_answer const& what) noexcept {
    if (!is_process(process_)) return;  // a collector forked, and the parent answers
    auto const found = std::find_if(connections_.begin(), connections_.end(),
                                    [&](auto const& each) { return each->number == number && each->is_waiting; });
    if (found == connections_.end()) return;
    send(**found, what.text, what.files);
    connections_.erase(found);
  }

 private:
  struct connection {
    connection(int accepted, std::uint64_t count, std::chrono::steady_clock::time_point now) noexcept
        : socket{accepted}, number{count}, opened{now} {}
    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;
    ~connection() {
      if (socket.is_own()) ::shutdown(socket.number, SHUT_RDWR);  // the child of a `fork` may have a copy
    }

    own_descriptor socket;
    std::uint64_t number;
    std::chrono::steady_clock::time_point opened;
    std::string text;
    bool is_waiting = false;  ///< the request was read, and its answer comes later
  };

  [[noreturn]] static void complain(std::string const& what, int reason) {
    throw error{what + ": " + std::generic_category().message(reason), reason};
  }

  static std::atomic<own_descriptor const*>& listening_in_parent() noexcept {
    static std::atomic<own_descriptor const*> value{nullptr};
    return value;
  }

  void close_in_children() const noexcept {
    listening_in_parent().store(&*listening_);
    static int const registered = ::pthread_atfork(nullptr, nullptr, [] {
      own_descriptor const* const of_parent = listening_in_parent().exchange(nullptr);
      if (of_parent != nullptr && of_parent->is_own()) ::close(of_parent->number);
    });
    static_cast<void>(registered);
  }

  void accept_clients(std::chrono::steady_clock::time_point now) {
    ::pollfd queue{listening_->number, POLLIN, 0};
    if (::poll(&queue, 1, 0) <= 0) return;  // cheaper than `accept4`, which makes a socket first
    if (!listening_->is_own()) return close();
    for (int count = 0; count < control_limits::max_accepted && connections_.size() < control_limits::max_connections; ++count) {
      own_descriptor accepted{above_standard_streams(::accept4(listening_->number, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK))};
      if (accepted.number < 0) return;
      if (!is_peer_of(accepted.number, user_)) continue;
      connections_.push_back(std::make_unique<connection>(accepted.number, ++accepted_, now));
      accepted.number = -1;
    }
  }

  /// Whether the client waits for its answer.
  [[nodiscard]] static bool is_connected(connection const& client) noexcept {
    char next = 0;
    return client.socket.is_own() && ::recv(client.socket.number, &next, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EINTR);
  }

  /// @return whether the connection continues.
  template <class Handle>
  [[nodiscard]] bool read(connection& client, std::chrono::steady_clock::time_point now, Handle const& handle) {
    if (!client.socket.is_own()) return false;
    std::array<char, control_limits::max_request_bytes + 1> bytes;
    ::ssize_t const size = ::recv(client.socket.number, bytes.data(), bytes.size() - client.text.size(), MSG_DONTWAIT);
    if (size == 0) return false;
    if (size < 0) return (errno == EAGAIN || errno == EINTR) && now - client.opened < control_limits::max_wait_for_request;
    client.text.append(bytes.data(), static_cast<std::size_t>(size));
    std::size_t const end = client.text.find('\n');
    bool const is_too_long = client.text.size() > control_limits::max_request_bytes;
    if (end == std::string::npos && !is_too_long) return true;
    std::optional<control_answer> answer;
    if (is_too_long) {
      answer = control_answer{"error a request has at most 4096 bytes", {}};
    } else if (end + 1 != client.text.size()) {
      answer = control_answer{"error a connection has one request", {}};
    } else {
      client.text.resize(end);
      answer = handle(client.number, client.text);
    }
    client.is_waiting = !answer;
    if (answer) send(client, answer->text, answer->files);
    return client.is_waiting;
  }

  /// Sends an answer, which fits the buffer of a new socket: it does not wait. If it fails, the client sees the end of the connection.
  static void send(connection const& client, std::string_view text, control_files const& files) noexcept {
    if (!client.socket.is_own()) return;
    try {
      std::string line = std::string{control_protocol} + std::string{text} + "\n";
      alignas(::cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
      ::iovec part{line.data(), line.size()};
      ::msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      if (!files.empty()) {
        std::size_t const bytes = files.size() * sizeof(int);
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(bytes);
        ::cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(bytes);
        for (std::size_t i = 0; i < files.size(); ++i) std::memcpy(CMSG_DATA(header) + i * sizeof(int), &files[i]->number, sizeof(int));
      }
      static_cast<void>(::sendmsg(client.socket.number, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
    } catch (std::exception const&) {  // no memory
    }
  }

  std::string path_;
  std::optional<own_descriptor> listening_;
  ::uid_t user_ = 0;            ///< of this process when it began to listen; it may have changed since
  std::uint64_t process_ = 0;   ///< `identify_process` of the process that listens
  std::uint64_t accepted_ = 0;  ///< number of clients so far
  std::vector<std::unique_ptr<connection>> connections_;
};

}  // namespace PROFKIT_NAMESPACE::detail
