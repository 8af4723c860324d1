// SPDX-License-Identifier: Apache-2.0
//
// The code that adds the windows of a session, and of profiles, compiled once for all targets that link profkit::profkit. The other parts
// of `profkit/code.hpp` are in the other files profkit-code-*.cpp, which compile at the same time.

#include <profkit/impl/analyze/windows/add_windows.hpp>
#include <profkit/impl/profile/make_profile_builder.hpp>
