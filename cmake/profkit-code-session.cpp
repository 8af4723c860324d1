// SPDX-License-Identifier: Apache-2.0
//
// The code of sessions, collectors, profiles and options, compiled once for all targets that link profkit::profkit. The other parts of
// `profkit/code.hpp` are in the other files profkit-code-*.cpp, which compile at the same time.

#include <profkit/collect/collector_code.hpp>
#include <profkit/collect/make_collectors.hpp>
#include <profkit/collect/nvtx_code.hpp>
#include <profkit/collect/nvtx_ranges.hpp>
#include <profkit/profile/make_profile.hpp>
#include <profkit/profile/make_profile_builder.hpp>
#include <profkit/profile/profile_builder_code.hpp>
#include <profkit/profile/profile_file_code.hpp>
#include <profkit/record/make_step.hpp>
#include <profkit/record/step_code.hpp>
#include <profkit/session/make_loaded_report.hpp>
#include <profkit/session/make_options.hpp>
#include <profkit/session/make_session.hpp>
#include <profkit/session/options_code.hpp>
#include <profkit/session/session_factory.hpp>

template class profkit::detail::profile_builder_code<void>;
template struct profkit::detail::collector_code<void>;
template struct profkit::detail::nvtx_code<void>;
template struct profkit::detail::options_code<void>;
template struct profkit::detail::profile_file_code<void>;
template struct profkit::detail::session_factory<void>;
template struct profkit::detail::step_code<void>;
