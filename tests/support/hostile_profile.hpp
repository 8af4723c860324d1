// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include <string>

#include "hostile_document.hpp"

/// A profile with hostile names and the times of `from`.
inline profkit::profile hostile_profile(profkit::profile from) {
  hostile_texts names{7};
  auto const set = [&](auto&... texts) { ((texts = names.next()), ...); };
  set(from.environment.host, from.environment.gpu, from.environment.driver, from.environment.cuda, from.item_name, from.quality.clock);
  for (std::string& each : from.environment.command) set(each);
  for (profkit::path_record& each : from.paths) set(each.name, each.file, each.role);
  for (profkit::thread_record& each : from.threads) set(each.name);
  for (profkit::gpu_name_record& each : from.gpu_names) set(each.name, each.mangled);
  for (std::string& each : from.api_names) set(each);
  for (profkit::memory_record& each : from.memory) set(each.source, each.quantity, each.peak_note);
  for (profkit::allocator_record& each : from.allocators) set(each.name);
  for (profkit::measured_roof_record& each : from.measured_roofs) set(each.how);
  for (profkit::function_record& each : from.functions) set(each.name, each.module, each.caller, each.file);
  for (profkit::collector_record& each : from.collectors) set(each.name, each.status, each.reason);
  return from;
}
