// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <profkit/error.hpp>
#include <profkit/impl/report/text_width.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "watch_screen.hpp"

namespace profkit_program {

/// What the user did.
enum class terminal_event : std::uint8_t { nothing, up, down, quit, redraw };

/// The terminal on stdout, with the alternate screen, and the keys of stdin. The destructor restores both, and so does every signal that
/// ends or stops the program. One at a time; it takes over the signals of the process.
class terminal {
 public:
  terminal() {
    ::sigemptyset(&handled_);
    for (int const each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH}) ::sigaddset(&handled_, each);
    ::pthread_sigmask(SIG_BLOCK, &handled_, &signals_before_);
    signals_ = ::signalfd(-1, &handled_, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) throw profkit::error{"profkit watch: signalfd failed", errno};
    ::termios found{};
    if (::tcgetattr(STDIN_FILENO, &found) == 0) before_ = found;
    enter();
  }

  terminal(terminal const&) = delete;
  terminal& operator=(terminal const&) = delete;

  ~terminal() {
    leave();
    ::close(signals_);
    ::pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
  }

  /// Whether the program can show its screen: a person looks at stdout, and the terminal knows escape sequences.
  [[nodiscard]] static bool is_there(std::string_view type) {
    return profkit::detail::is_looked_at(STDOUT_FILENO) && !type.empty() && type != "dumb";
  }

  [[nodiscard]] bool has_keys() const noexcept { return before_.has_value(); }

  /// Now; 80 x 24 if the terminal does not say.
  [[nodiscard]] static screen_size size() noexcept {
    ::winsize found{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) return {};
    return {found.ws_col, found.ws_row};
  }

  /// Replaces the screen as a whole, in terminals that know synchronized updates (mode 2026). Erases before it writes: behind a text that
  /// fills its line, the cursor is on its last character.
  /// @throws profkit::error if the terminal is gone.
  void draw(std::vector<std::string> const& lines) const {
    std::string text = "\x1b[?2026h\x1b[H";
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) text += "\x1b[K" + lines[i] + "\r\n";
    text += "\x1b[J" + (lines.empty() ? "" : lines.back());
    if (!write(text + "\x1b[?2026l")) throw profkit::error{"profkit watch: the terminal is gone", errno};
  }

  /// Waits for keys and signals. Signals that end the program do so here, with the terminal restored.
  [[nodiscard]] terminal_event wait(std::chrono::milliseconds timeout) {
    std::array<::pollfd, 2> sources{{{signals_, POLLIN, 0}, {has_keys() ? STDIN_FILENO : -1, POLLIN, 0}}};
    if (::poll(sources.data(), sources.size(), static_cast<int>(timeout.count())) <= 0) return terminal_event::nothing;
    if (sources[0].revents != 0) return take_signal();
    return take_key();
  }

 private:
  static bool write(std::string_view text) noexcept {
    while (!text.empty()) {
      ssize_t const written = ::write(STDOUT_FILENO, text.data(), text.size());
      if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (written <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  /// Alternate screen, no cursor, no automatic line break; keys come at once and are not shown.
  void enter() noexcept {
    if (before_) {
      ::termios raw = *before_;
      raw.c_lflag &= ~static_cast<::tcflag_t>(ICANON | ECHO);
      raw.c_cc[VMIN] = 0;
      raw.c_cc[VTIME] = 0;
      ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    static_cast<void>(write("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"));
  }

  void leave() const noexcept {
    static_cast<void>(write("\x1b[?7h\x1b[?25h\x1b[?1049l"));
    if (before_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*before_);
  }

  [[nodiscard]] terminal_event take_signal() {
    ::signalfd_siginfo found{};
    if (::read(signals_, &found, sizeof found) != static_cast<ssize_t>(sizeof found)) return terminal_event::nothing;
    int const signal = static_cast<int>(found.ssi_signo);
    if (signal == SIGWINCH) return terminal_event::redraw;
    if (signal == SIGCONT) {  // after SIGSTOP the shell may have set the terminal as it needs it
      enter();
      return terminal_event::redraw;
    }
    struct ::sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return terminal_event::nothing;  // such as under nohup
    leave();
    ::sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, signal);
    static_cast<void>(::raise(signal));
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);  // ends or stops here
    ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
    enter();
    return terminal_event::redraw;
  }

  [[nodiscard]] terminal_event take_key() {
    std::array<char, 16> bytes{};
    ssize_t const count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count <= 0) return terminal_event::quit;  // the terminal is gone
    std::string_view const keys{bytes.data(), static_cast<std::size_t>(count)};
    if (keys == "\x1b[A" || keys == "\x1bOA") return terminal_event::up;
    if (keys == "\x1b[B" || keys == "\x1bOB") return terminal_event::down;
    return keys.find('q') != std::string_view::npos ? terminal_event::quit : terminal_event::nothing;
  }

  ::sigset_t handled_{};
  ::sigset_t signals_before_{};
  int signals_ = -1;
  std::optional<::termios> before_;  ///< n/a: stdin is no terminal
};

}  // namespace profkit_program
