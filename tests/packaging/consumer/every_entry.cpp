// SPDX-License-Identifier: Apache-2.0
#include <profkit/profile_builder.hpp>
#include <profkit/profkit.hpp>

// Every function through which a program without a session uses the code of reports.
void use_every_entry(char const* path) {
  profkit::profile_builder builder;
  profkit::summary const made = profkit::analyze(builder.take());
  profkit::save(profkit::load(path), path);
  profkit::save(profkit::load_journal(path).content, path);
  profkit::save_summary(profkit::load_summary(path), path);
  profkit::load_report(path).write(profkit::report_html(made).c_str());
}
