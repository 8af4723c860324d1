// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <profkit/error.hpp>
#include <profkit/impl/profile/file_access.hpp>
#include <profkit/impl/session/live/control_socket.hpp>
#include <profkit/version.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace profkit_program {

/// The control socket of a process (`PROFKIT=control`).
struct session_socket {
  std::uint64_t process = 0;
  std::string path;
};

/// The value of an answer: "%20" is a space.
inline std::string plain_word(std::string_view word) {
  std::string result;
  for (std::size_t i = 0; i < word.size(); ++i) {
    unsigned byte = 0;
    bool const is_code = word[i] == '%' && i + 2 < word.size() &&
                         std::from_chars(word.data() + i + 1, word.data() + i + 3, byte, 16).ptr == word.data() + i + 3;
    result += is_code ? static_cast<char>(byte) : word[i];
    if (is_code) i += 2;
  }
  return result;
}

/// The control sockets of a user, by process. Only folders that belong to the user and that nobody else may use count.
inline std::vector<session_socket> find_sockets(::uid_t user) {
  std::vector<std::string> folders = profkit::detail::control_folders(::secure_getenv("XDG_RUNTIME_DIR"), user);
  folders.push_back("/run/user/" + std::to_string(user) + "/profkit");
  std::map<std::uint64_t, std::string> found;
  for (std::string const& folder : folders) {
    struct ::stat status {};
    if (::lstat(folder.c_str(), &status) != 0 || !profkit::detail::is_private_folder(status, user)) continue;
    std::error_code failure;
    for (auto const& entry : std::filesystem::directory_iterator{folder, failure}) {
      std::string const name = entry.path().filename().string();
      std::uint64_t process = 0;
      bool const is_number = std::from_chars(name.data(), name.data() + name.size(), process).ptr == name.data() + name.size();
      if (is_number && process > 0) found.emplace(process, entry.path().string());
    }
  }
  std::vector<session_socket> result;
  for (auto const& [process, path] : found) result.push_back({process, path});
  return result;
}

/// The answer of a session.
struct session_answer {
  std::map<std::string, std::string, std::less<>> values;
  profkit::detail::control_files files;

  [[nodiscard]] std::optional<std::string> text(std::string_view key) const {
    auto const found = values.find(key);
    return found == values.end() ? std::nullopt : std::optional{found->second};
  }
  /// n/a without the key, or if its value is no number.
  [[nodiscard]] std::optional<double> number(std::string_view key) const {
    auto const found = values.find(key);
    double result = 0.0;
    if (found == values.end()) return std::nullopt;
    std::string const& value = found->second;
    bool const is_number = std::from_chars(value.data(), value.data() + value.size(), result).ptr == value.data() + value.size();
    return is_number && !value.empty() ? std::optional{result} : std::nullopt;
  }
};

/// A request to a session.
class session_call {
 public:
  using clock = std::chrono::steady_clock;

  /// @param request such as "status".
  /// @param user the owner of the session.
  session_call(session_socket where, std::string_view request, ::uid_t user)
      : where_{std::move(where)}, request_{std::string{profkit::detail::control_protocol} + std::string{request} + "\n"}, user_{user} {}

  [[nodiscard]] session_socket const& where() const noexcept { return where_; }

  /// Whether no process listens on the socket: it was left behind.
  [[nodiscard]] bool is_stale() const noexcept { return is_stale_; }

  /// Sends the request if the session accepts it without waiting. @return whether it is sent.
  /// @throws profkit::error
  bool begin() {
    if (socket_.number >= 0) return true;
    auto const address = profkit::detail::control_address(where_.path);
    if (!address) throw profkit::error{where_.path + ": the path is too long"};
    socket_.number = profkit::detail::connect_to_control(*address);
    if (socket_.number < 0 && errno == EAGAIN) return false;
    is_stale_ = socket_.number < 0 && errno == ECONNREFUSED;
    if (socket_.number < 0) fail("cannot connect: " + std::generic_category().message(errno));
    if (!profkit::detail::is_peer_of(socket_.number, user_)) fail("another user listens on its socket");
    ::ssize_t const sent = ::send(socket_.number, request_.data(), request_.size(), MSG_NOSIGNAL);
    if (sent != static_cast<::ssize_t>(request_.size())) fail("cannot send a request: " + std::generic_category().message(errno));
    return true;
  }

  /// Waits for the answer.
  /// @return n/a if there is none by then.
  /// @throws profkit::error with the reason that the session gives, or why there is no answer.
  std::optional<session_answer> finish(clock::time_point until) {
    constexpr std::chrono::milliseconds between_attempts{20};
    while (!begin()) {
      if (clock::now() >= until) return std::nullopt;
      static_cast<void>(::poll(nullptr, 0, static_cast<int>(between_attempts.count())));
    }
    while (text_.empty() || text_.back() != '\n') {
      auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now());
      ::pollfd ready{socket_.number, POLLIN, 0};
      int const found = ::poll(&ready, 1, static_cast<int>(std::max(left, std::chrono::milliseconds{0}).count()));
      if (found == 0) return std::nullopt;
      if (found > 0) receive();
    }
    return read_answer();
  }

 private:
  [[noreturn]] void fail(std::string const& reason) const {
    throw profkit::error{"process " + std::to_string(where_.process) + ": " + reason};
  }

  void receive() {
    constexpr std::size_t max_answer = std::size_t{1} << 16U;
    std::array<char, 4096> bytes{};
    alignas(::cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
    ::iovec part{bytes.data(), bytes.size()};
    ::msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ::ssize_t const size = ::recvmsg(socket_.number, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) fail("the session ended, or refused the request");
    for (::cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
      if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
      for (std::size_t i = 0; i < (each->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
        int file = -1;
        std::memcpy(&file, CMSG_DATA(each) + i * sizeof(int), sizeof file);
        answer_.files.push_back(std::make_unique<profkit::detail::own_descriptor>(file));
      }
    }
    text_.append(bytes.data(), static_cast<std::size_t>(size));
    if (text_.size() > max_answer) fail("its answer is too long");
  }

  session_answer read_answer() {
    std::string_view rest = text_;
    rest.remove_suffix(1);
    constexpr std::string_view protocol = profkit::detail::control_protocol;
    if (rest.substr(0, protocol.size()) != protocol) {
      constexpr std::string_view name = protocol.substr(0, protocol.find(' ') + 1);
      constexpr std::size_t max_digits = 9;
      std::string_view number = rest.substr(0, name.size()) == name ? rest.substr(name.size(), max_digits) : std::string_view{};
      number = number.substr(0, std::min(number.find_first_not_of("0123456789"), number.size()));
      if (number.empty()) fail("its answer is not one of profkit");
      fail("its answer has version " + std::string{number} + " of the control protocol, and profkit " + profkit::version +
           " reads version 1. Use the program profkit of the session's version");
    }
    rest.remove_prefix(protocol.size());
    constexpr std::string_view refused = "error ";
    if (rest.substr(0, refused.size()) == refused) fail(std::string{rest.substr(refused.size())});
    while (!rest.empty()) {
      std::string_view const word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      std::size_t const equals = word.find('=');
      if (equals != std::string_view::npos) answer_.values[std::string{word.substr(0, equals)}] = plain_word(word.substr(equals + 1));
    }
    return std::move(answer_);
  }

  session_socket where_;
  std::string request_;
  ::uid_t user_;
  profkit::detail::own_descriptor socket_{-1};
  bool is_stale_ = false;
  std::string text_;
  session_answer answer_;
};

/// The path of a file that an answer carries. The loaders of profkit take paths.
inline std::string path_of(profkit::detail::own_descriptor const& file) { return "/proc/self/fd/" + std::to_string(file.number); }

/// The user of a running process. @throws profkit::error if there is no such process.
inline ::uid_t user_of_process(std::uint64_t process) {
  struct ::stat found {};
  if (::stat(("/proc/" + std::to_string(process)).c_str(), &found) != 0)
    throw profkit::error{"there is no process " + std::to_string(process)};
  return found.st_uid;
}

/// The socket of a process. @throws profkit::error if it has none.
inline session_socket socket_of_process(std::uint64_t process) {
  for (session_socket const& each : find_sockets(user_of_process(process))) {
    if (each.process == process) return each;
  }
  throw profkit::error{"process " + std::to_string(process) +
                       " does not listen: start it with PROFKIT=control. profkit ps lists the sessions that listen"};
}

}  // namespace profkit_program
