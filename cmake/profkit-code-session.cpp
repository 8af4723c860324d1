// SPDX-License-Identifier: Apache-2.0
//
// The code of sessions, collectors, profiles and options, compiled once for all targets that link profkit::profkit. The other parts of
// `profkit/code.hpp` are in the other files profkit-code-*.cpp, which compile at the same time.

#include <profkit/collect/make_collectors.hpp>
#include <profkit/collect/nvtx_ranges.hpp>
#include <profkit/profile/make_profile.hpp>
#include <profkit/profile/make_profile_builder.hpp>
#include <profkit/record/make_step.hpp>
#include <profkit/session/make_loaded_report.hpp>
#include <profkit/session/make_options.hpp>
#include <profkit/session/make_session.hpp>
