// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "../../analyze.hpp"
#include "../../profile.hpp"
#include "../../summary.hpp"
#include "../../time.hpp"

namespace PROFKIT_NAMESPACE {

struct attribution;
struct window;
struct window_frame;

namespace detail {

struct analysis_parts;
class archive_reader;
class archive_writer;

analysis_parts* new_copy(analysis_parts const* from);
void destroy(analysis_parts* value) noexcept;

/// A value of a type that is incomplete where its owner is defined. It is copied with the owner.
/// @tparam T has functions `new_copy` and `destroy`, in the unit that defines it. `new_copy` of null makes a new value. They are functions
/// because Clang omits special members that their own unit does not call, also with `[[gnu::used]]`.
template <class T>
class boxed {
 public:
  boxed() : value_{new_copy(static_cast<T const*>(nullptr))} {}
  boxed(boxed const& other) : value_{new_copy(other.value_)} {}
  boxed(boxed&& other) noexcept : value_{std::exchange(other.value_, nullptr)} {}
  boxed& operator=(boxed other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~boxed() { destroy(value_); }

  [[nodiscard]] T* operator->() const noexcept { return value_; }
  [[nodiscard]] T& operator*() const noexcept { return *value_; }

 private:
  T* value_;  ///< null: moved from
};

}  // namespace detail

/// @brief The figures of a session, computed window by window.
///
/// The summary does not depend on the borders of the windows, except for the rounding of floating-point sums (`work` and `model_flops`).
/// Memory is bounded by the number of paths, kernels and allocators, not by the length of the session. Not thread-safe. Performs no input
/// or output.
class analysis {
 public:
  /// @brief Creates an analysis without windows.
  /// @param with rules for kernel classes.
  explicit analysis(analyze_options with = {}) { set(std::move(with)); }

  /// @brief Adds a window. The windows of a session are added in time order and do not overlap.
  /// @param each the window; takes time proportional to its records (n log n if they are out of order).
  /// @throws profkit::error if it begins before the end of the previous window.
  void add(window const& each);

  /// @brief Adds a window without copying its records. The windows of a session are added in time order and do not overlap.
  /// @param records the records of the window.
  /// @param frame the stretch of time that the window owns.
  /// @param launched `attribute(records)`, if the caller has computed it; null: `add` computes it if needed.
  /// @throws profkit::error if it begins before the end of the previous window.
  void add(profile const& records, window_frame const& frame, attribution const* launched = nullptr);

  /// @brief The end of the last window; `timestamp::min()` without windows.
  [[nodiscard]] timestamp until() const noexcept;

  /// @brief Computes the summary. Windows can be added afterwards.
  /// @return the figures of all windows so far.
  [[nodiscard]] summary finish() const;

 private:
  void set(analyze_options with);

  // Reading keeps the options, because the file does not contain them.
  friend void fields(detail::archive_reader&, analysis&);
  friend void fields(detail::archive_writer&, analysis&);

  detail::boxed<detail::analysis_parts> parts_;
};

}  // namespace PROFKIT_NAMESPACE
