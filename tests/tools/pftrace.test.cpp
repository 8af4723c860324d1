// SPDX-License-Identifier: Apache-2.0
#include <profkit/error.hpp>
#include <profkit/impl/report/trace_json.hpp>

#include <protozero/pbf_reader.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/testing.hpp"
#include "traces/pftrace.hpp"

namespace {

std::string plain(profkit::profile const& profile, std::uint64_t steps = 100) {
  return profkit::trace_pftrace(profile, profkit::attribute(profile), steps, profkit::pftrace_packing::plain);
}

/// Begins count 1, ends -1, in the order of the packets.
std::vector<int> begins_and_ends(std::string const& trace) {
  std::vector<int> result;
  for (protozero::pbf_reader packets{trace}; packets.next(profkit::detail::pftrace::trace_packets);) {
    protozero::pbf_reader packet = packets.get_message();
    if (!packet.next(profkit::detail::pftrace::packet_track_event)) continue;
    protozero::pbf_reader event = packet.get_message();
    if (event.next(profkit::detail::pftrace::event_type)) result.push_back(event.get_uint32() == 1 ? 1 : -1);
  }
  return result;
}

/// Scopes of one thread, 6 deep, some hundred nanoseconds apart.
profkit::profile many_scopes(std::size_t count) {
  profkit::profile made;
  made.threads.push_back({1, "train"});
  for (std::uint32_t i = 0; i < 6; ++i) made.paths.push_back({i == 0 ? profkit::path_record::no_parent : i - 1, "name", i, "made.cpp", 1});
  std::int64_t now = 1'790'000'000'000'000'000;
  std::uint64_t random = 1;
  auto const moment = [&] {
    random = random * 6364136223846793005U + 1442695040888963407U;
    now += 200 + static_cast<std::int64_t>(random >> 54U);
    return profkit::timestamp{std::chrono::nanoseconds{now}};
  };
  made.time.begin = moment();
  while (made.scopes.size() < count) {
    std::vector<profkit::timestamp> begins;
    for (int i = 0; i < 6; ++i) begins.push_back(moment());
    for (std::uint32_t depth = 6; depth-- > 0;) made.scopes.push_back({{begins[depth], moment()}, depth, 0});
  }
  return made;
}

}  // namespace

TEST_CASE("a trace that cannot be written is an error that names the file", "[pftrace]") {
  profkit::profile const made = made_gpu_profile();
  CHECK_THROWS_WITH(profkit::write_pftrace(made, profkit::attribute(made), 3, "/nowhere/a"), ContainsSubstring("/nowhere/a"));
  if (std::filesystem::exists("/dev/full")) {
    CHECK_THROWS_WITH(profkit::write_pftrace(made, profkit::attribute(made), 3, "/dev/full"), ContainsSubstring("/dev/full"));
  }
}

TEST_CASE("a scope takes at most 16 bytes of a compact trace", "[pftrace]") {
  profkit::profile const profile = many_scopes(60'000);
  std::size_t const bytes = profkit::trace_pftrace(profile).size();
  CHECK(bytes <= 16 * profile.scopes.size());
  CHECK(begins_and_ends(plain(profile)).size() == 2 * profile.scopes.size());
}

TEST_CASE("every slice ends, and none outlasts the enclosing one", "[pftrace]") {
  profkit::profile profile;
  profile.threads.push_back({1, "train"});
  profile.paths = {{profkit::path_record::no_parent, "a", {}, "made.cpp", 1}, {profkit::path_record::no_parent, "b", {}, "made.cpp", 1}};
  auto const at = [](int ns) { return profkit::timestamp{std::chrono::nanoseconds{ns}}; };
  profile.scopes = {{{at(0), at(10)}, 0, 0}, {{at(5), at(20)}, 1, 0}, {{at(20), at(20)}, 0, 0}};  // impossible in a recorded session
  CHECK(begins_and_ends(plain(profile)) == std::vector<int>{1, 1, -1, -1, 1, -1});
}

TEST_CASE("an empty profile gives a trace without slices", "[pftrace]") {
  CHECK_FALSE(profkit::trace_pftrace({}).empty());
  CHECK(begins_and_ends(plain({})).empty());
  profkit::profile warm_up_only = made_gpu_profile();
  for (profkit::step_record& step : warm_up_only.steps) step.warmup = true;
  CHECK(begins_and_ends(plain(warm_up_only)).empty());
}

TEST_CASE("a compact trace has complete names of any bytes as UTF-8", "[pftrace]") {
  profkit::profile profile = made_gpu_profile();
  std::string const hostile = "quote \" newline \n control \x01 </script> broken \xff\xc3";
  std::string const shown = "quote \" newline \n control \x01 </script> broken \xef\xbf\xbd\xef\xbf\xbd";
  std::string const longest(1'000'000, 'x');
  profile.paths[1].name = hostile;
  profile.paths[2].name = longest;
  profile.paths[3].name = "";
  std::map<std::string, int> names;
  std::string const trace = plain(profile);
  for (protozero::pbf_reader packets{trace}; packets.next(profkit::detail::pftrace::trace_packets);) {
    protozero::pbf_reader packet = packets.get_message();
    if (!packet.next(profkit::detail::pftrace::packet_interned_data)) continue;
    for (protozero::pbf_reader data = packet.get_message(); data.next(profkit::detail::pftrace::interned_event_names);) {
      protozero::pbf_reader entry = data.get_message();
      if (entry.next(profkit::detail::pftrace::interned_text)) ++names[entry.get_string()];
    }
  }
  CHECK(names[shown] > 0);
  CHECK(names[longest] > 0);
  CHECK(names[""] > 0);
  CHECK(names.count(hostile) == 0);
}
