// SPDX-License-Identifier: Apache-2.0
#include <profkit/profkit.hpp>

#include <fmt/format.h>

#include <string>

void work_in_plugin();
void work_in_library();

// The program, its static library and its shared library contain scopes, and two of them sessions; there is one recorder.
int main() {
  profkit::session session;
  for (profkit::step step : session) {
    work_in_plugin();
    work_in_library();
  }
  std::string const text = session.report().full_text();
  fmt::print("{}\n", text);
  return text.find("in the plugin") != std::string::npos && text.find("in the library") != std::string::npos ? 0 : 1;
}
