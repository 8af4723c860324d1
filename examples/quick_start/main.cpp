#include <profkit/profkit.hpp>

#include <chrono>
#include <thread>

void attention() {
  PROF_SCOPE("attention");
  std::this_thread::sleep_for(std::chrono::milliseconds{2});
}

int main() {
  profkit::options options = profkit::options::from_env();  // PROFKIT=..., else defaults
  options.warmup_steps = 5;
  options.measured_steps = 30;
  options.items_per_step = 4 * 512;
  options.item_name = "tokens";

  profkit::session session{options};
  session.collect(profkit::host_memory());
  for (profkit::step step : session) {
    PROF_SCOPE("forward");
    for (int i = 0; i < 2; ++i) {
      PROF_SCOPE_INDEXED("layer", i);
      attention();
    }
  }
  profkit::report report = session.report();
  fmt::print("{}\n", report);
  report.write("profile");
}
