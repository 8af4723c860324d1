// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The kernels that parts of a program launched.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "analyze.hpp"
#include "impl/analyze/gpu/attribution.hpp"
#include "impl/analyze/gpu/counted_operations.hpp"
#include "impl/analyze/gpu/gpu_summary.hpp"
#include "impl/analyze/time/measured_time.hpp"
#include "impl/analyze/time/path_tree.hpp"
#include "impl/profile/own_memory.hpp"
#include "profile.hpp"
#include "summary.hpp"

namespace PROFKIT_NAMESPACE {

namespace detail {

/// For each path: whether the path or a parent has the given name or is the given path.
inline detail::own_vector<bool> paths_inside(detail::own_vector<path_record> const& paths, std::string_view scope) {
  detail::own_vector<bool> result(paths.size());
  detail::own_vector<std::string> whole(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {  // parents precede their children
    std::string const name = shown_name(paths[i]);
    bool const has_parent = paths[i].parent != path_record::no_parent;
    whole[i] = has_parent ? whole[paths[i].parent] + "/" + name : name;
    result[i] = name == scope || whole[i] == scope || (has_parent && result[paths[i].parent]);
  }
  return result;
}

/// @param is_wanted called with the position of a path, or `attribution::none` for launches outside any scope.
template <class IsWanted>
detail::own_vector<kernel_summary> kernels_launched_in(profile const& profile, analyze_options const& with, IsWanted is_wanted) {
  attribution const launched = attribute(profile);
  measured_time const when = measured_time::with_kernels(profile);
  detail::own_vector<timed_operation> wanted;
  counted_operations{profile, launched, when}.for_each([&](timed_operation const& each) {
    if (is_wanted(each.path)) wanted.push_back(each);
  });
  own_vector<named_operations> by_name;
  add_by_name(by_name, profile, wanted);
  gpu_summary result;
  summarize_names(result, profile.gpu_names, by_name, with.kernel_classes, profile.launch_shapes);
  return std::move(result.kernels);
}

}  // namespace detail

/// @brief The kernels launched in the given scopes or inside them, over the measured steps with kernels collected.
///
/// Each execution counts once, even if a scope lies in another scope of its name. Shares refer to the time of these kernels. Takes as long
/// as `analyze`. Thread-safe.
/// @param profile the profile.
/// @param scope a name as reports show it, such as "softmax" or "layer_3", wherever it is in the tree; or a path from the root, such as
///   "step/forward".
/// @param with the rules for kernel classes.
/// @return rows by total time, longest first; empty without kernels.
[[nodiscard]] inline ::profkit::detail::own_vector<kernel_summary> kernels_of_scope(profile const& profile, std::string_view scope,
                                                                                    analyze_options const& with = {}) {
  ::profkit::detail::own_vector<bool> const is_inside = detail::paths_inside(profile.paths, scope);
  return detail::kernels_launched_in(profile, with, [&](std::uint32_t path) { return path != attribution::none && is_inside[path]; });
}

/// @brief The kernels launched outside any scope of the launching thread, for example by autograd threads, or without a recorded launch.
[[nodiscard]] inline ::profkit::detail::own_vector<kernel_summary> kernels_outside_scopes(profile const& profile,
                                                                                          analyze_options const& with = {}) {
  return detail::kernels_launched_in(profile, with, [](std::uint32_t path) { return path == attribution::none; });
}

}  // namespace PROFKIT_NAMESPACE
