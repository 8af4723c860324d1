// SPDX-License-Identifier: Apache-2.0
//
// For tests/gpu/beside_torch_profiler.py: reports whether a session can collect kernels in the process that has loaded this library.
#include <profkit/cupti.hpp>
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <string>

extern "C" __attribute__((visibility("default"))) char const* kernel_status() {
  static std::string status;
  profkit::session session{profkit::options{}};
  session.collect(profkit::cupti_kernels());
  profkit::profile const profile = session.report().profile();
  status = profile.collectors.at(0).status + ": " + profile.collectors.at(0).reason;
  return status.c_str();
}
