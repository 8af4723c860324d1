// SPDX-License-Identifier: Apache-2.0
#include <profkit/error.hpp>
#include <profkit/profile_builder.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <chrono>
#include <cstdint>
#include <string>

namespace {

profkit::timestamp time_at(std::int64_t ns) { return profkit::timestamp{std::chrono::nanoseconds{ns}}; }

profkit::api_call_record call_with(std::uint64_t correlation, std::int64_t begin_ns) {
  return {{time_at(begin_ns), time_at(begin_ns + 10)}, correlation, 0, 0};
}

/// An entry for each position of a new record.
void fill_tables(profkit::profile_builder& into) {
  into.position_of(profkit::path_record{profkit::path_record::no_parent, "path", {}, "", 0});
  into.add(profkit::thread_record{1, "thread"});
  into.position_of(profkit::gpu_name_record{"kernel", "", {}});
  into.position_of_api_name("call");
  into.position_of_counter("counter");
  into.position_of_collective_word("");
  into.position_of(profkit::communicator_record{});
  into.position_of(profkit::allocator_record{"allocator", 0, false});
}

}  // namespace

TEST_CASE("a builder returns one position for equal entries of a table", "[builder]") {
  profkit::profile_builder builder;
  std::uint32_t const step = builder.position_of(profkit::path_record{profkit::path_record::no_parent, "step", {}, "a.cpp", 1});
  std::uint32_t const again = builder.position_of(profkit::path_record{profkit::path_record::no_parent, "step", {}, "b.cpp", 2});
  CHECK(step == again);
  profkit::path_record indexed{step, "layer", 3, "a.cpp", 4};
  CHECK(builder.position_of(indexed) != builder.position_of(profkit::path_record{step, "layer", 4, "a.cpp", 4}));
  CHECK(builder.position_of(indexed) == builder.position_if_room(indexed));
  CHECK(builder.position_of(profkit::gpu_name_record{"scale(int)", "_Z5scalei"}) ==
        builder.position_of(profkit::gpu_name_record{"scale(int)", "_Z5scalei"}));
  CHECK(builder.position_of(profkit::gpu_name_record{"scale(int)", "_Z5scalei"}) !=
        builder.position_of(profkit::gpu_name_record{"scale(int)", "_ZN1a5scaleEi"}));
  CHECK(builder.position_of_api_name("cuLaunchKernel") == builder.position_of_api_name(std::string{"cuLaunchKernel"}));
  CHECK(builder.position_of_counter("loss") == 0);
  CHECK(builder.position_of_counter("rate") == 1);
  profkit::profile const made = builder.take();
  CHECK(made.paths.size() == 3);
  CHECK(made.paths[step].file == "a.cpp");  // the first location
  CHECK(made.gpu_names.size() == 2);
  CHECK(made.api_names.size() == 1);
  CHECK(made.counter_names.size() == 2);
}

TEST_CASE("a communicator is known by its id, its name and the rank of the process in it", "[builder]") {
  profkit::profile_builder builder;
  CHECK(builder.position_of(profkit::communicator_record{7, "all", 0, 2}) == 0);
  CHECK(builder.position_of(profkit::communicator_record{7, "all", 1, 2}) == 1);  // two ranks in one process
  CHECK(builder.position_of(profkit::communicator_record{7, "", 0, 2}) == 2);
  CHECK(builder.position_of(profkit::communicator_record{70, "all", 0, 2}) == 3);
  CHECK(builder.position_of(profkit::communicator_record{7, "all", 1, 0}) == 1);
  CHECK(builder.position_of_collective_word("AllReduce") == 0);
  CHECK(builder.position_of_collective_word("") == 1);
  CHECK(builder.position_of_collective_word("AllReduce") == 0);
  CHECK(builder.so_far().communicators[1].size == 2);
}

TEST_CASE("an allocator that existed at the start keeps its bytes when its first block is recorded", "[builder]") {
  profkit::profile_builder builder;
  std::uint16_t const arena = builder.position_of(profkit::allocator_record{"arena", 4096, false});
  CHECK(builder.position_of(profkit::allocator_record{"arena", 0, false}) == arena);
  REQUIRE(builder.so_far().allocators.size() == 1);
  CHECK(builder.so_far().allocators[0].bytes_at_start == 4096);
}

TEST_CASE("allocators beyond the bound share one entry", "[builder]") {
  profkit::profile_builder builder;
  std::uint16_t const first = builder.position_of(profkit::allocator_record{"first", 0, false});
  std::uint16_t last = 0;
  for (int i = 0; i < 70'000; ++i) last = builder.position_of(profkit::allocator_record{"arena " + std::to_string(i), 0, false});
  std::uint16_t const polled = builder.position_of(profkit::allocator_record{"polled", 4096, true});
  profkit::profile const& made = builder.so_far();
  REQUIRE(made.allocators.size() == profkit::detail::max_allocators + 2);
  CHECK(builder.position_of(profkit::allocator_record{"first", 0, false}) == first);
  CHECK(builder.position_of(profkit::allocator_record{"arena 5", 0, false}) == first + 6);
  CHECK(made.allocators[last].name == profkit::detail::other_allocators);
  CHECK(made.allocators[polled].name == "polled");
}

TEST_CASE("a thread with a reused system number has its own entry", "[builder]") {
  profkit::profile_builder builder;
  CHECK_FALSE(builder.find_thread(7));
  std::uint32_t const first = builder.add(profkit::thread_record{7, "first"});
  std::uint32_t const second = builder.add(profkit::thread_record{7, "second"});
  CHECK(first != second);
  CHECK(builder.find_thread(7) == first);
}

TEST_CASE("beyond the record budget records of any kind are counted and dropped, steps are kept", "[builder]") {
  profkit::profile_builder builder;
  fill_tables(builder);
  builder.bound_records(3);
  CHECK(builder.add(profkit::scope_record{}));
  CHECK(builder.add(profkit::gpu_operation_record{}));
  CHECK(builder.add(call_with(1, 0)));
  CHECK_FALSE(builder.add(profkit::scope_record{}));
  CHECK_FALSE(builder.add(profkit::gpu_scope_record{}));
  CHECK_FALSE(builder.add(profkit::counter_record{}));
  CHECK_FALSE(builder.add(profkit::allocation_record{}));
  CHECK_FALSE(builder.add(profkit::work_record{}));
  CHECK_FALSE(builder.add(profkit::collective_record{}));
  builder.add(profkit::step_record{});
  builder.add(profkit::gpu_step_record{});
  profkit::profile const made = builder.take();
  CHECK(made.quality.discarded_records == 6);
  CHECK(made.scopes.size() == 1);
  CHECK(made.gpu_operations.size() == 1);
  CHECK(made.api_calls.size() == 1);
  CHECK(made.counters.empty());
  CHECK(made.steps.size() == 1);
  CHECK(made.gpu_steps.size() == 1);
}

TEST_CASE("a record or a path that refers to an entry that does not exist is refused, and the profile stays as it is", "[builder]") {
  profkit::profile_builder builder;
  fill_tables(builder);
  profkit::scope_record scope;
  scope.path = 1;
  CHECK_THROWS_WITH(builder.add(scope), "cannot add a record: a scope without path");
  scope = {};
  scope.time = {time_at(10), time_at(5)};
  CHECK_THROWS_WITH(builder.add(scope), "cannot add a record: a scope ends before it begins");
  profkit::gpu_operation_record kernel;
  kernel.name = 7;
  CHECK_THROWS_WITH(builder.add(kernel), "cannot add a record: a GPU operation without name");
  CHECK_THROWS_AS(builder.position_of(profkit::path_record{9, "inside", {}, "", 0}), profkit::error);
  CHECK(builder.so_far().scopes.empty());
  CHECK(builder.so_far().gpu_operations.empty());
  CHECK(builder.so_far().paths.size() == 1);
}

TEST_CASE("paths and communicators that no file can hold are refused, or their impossible part is unknown", "[builder]") {
  profkit::profile_builder builder;
  std::uint32_t path = profkit::path_record::no_parent;
  for (int i = 0; i < 1024; ++i) path = builder.position_of(profkit::path_record{path, "deeper", {}, "", 0});
  CHECK_THROWS_AS(builder.position_of(profkit::path_record{path, "deeper", {}, "", 0}), profkit::error);
  profkit::path_record step{profkit::path_record::no_parent, "mine", {}, "", 0};
  step.is_step = true;
  CHECK_THROWS_AS(builder.position_of(step), profkit::error);
  step.name = "step";
  step.parent = 0;
  CHECK_THROWS_AS(builder.position_of(step), profkit::error);
  CHECK(builder.so_far().paths.size() == 1024);
  builder.position_of(profkit::communicator_record{7, "all", 2, 2});
  CHECK(builder.so_far().communicators.at(0).size == 0);
}
