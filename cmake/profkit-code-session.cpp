// SPDX-License-Identifier: Apache-2.0
//
// The code of sessions, collectors and options, and that loads reports, compiled once for all targets that link profkit::profkit. The other
// parts of `profkit/code.hpp` are in the other files profkit-code-*.cpp, which compile at the same time.

#include <profkit/impl/collect/make_collectors.hpp>
#include <profkit/impl/collect/nvtx_ranges.hpp>
#include <profkit/impl/record/step_code.hpp>
#include <profkit/impl/session/c_interface.hpp>
#include <profkit/impl/session/make_options.hpp>
#include <profkit/impl/session/make_session.hpp>
