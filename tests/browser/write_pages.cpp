// SPDX-License-Identifier: Apache-2.0
//
// Writes the pages that check_pages.py opens in a browser.
//   usage: write_pages FOLDER
#include <profkit/profile/atomic_file.hpp>
#include <profkit/report/html_page.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

#include "../support/hostile_document.hpp"
#include "../support/huge_document.hpp"
#include "../support/made_document.hpp"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::filesystem::path const folder = arguments[1];
  auto const write = [&](std::string const& name, profkit::detail::document const& what) {
    profkit::detail::write_file(folder / (name + ".html"), profkit::detail::html_page(what));
  };
  write("made", made_document());
  write("empty", {"a program", "", "The session took 3 s; no steps were marked", {}, {}, {}, "profkit 0.1.0"});
  write("huge", huge_document());
  for (std::uint32_t seed = 1; seed <= 3; ++seed) write("hostile_" + std::to_string(seed), hostile_document(seed));
}
