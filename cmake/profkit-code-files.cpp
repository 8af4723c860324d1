// SPDX-License-Identifier: Apache-2.0
//
// The code that writes traces, compiled once for all targets that link profkit::profkit. The other parts of
// `profkit/code.hpp` are in the other files profkit-code-*.cpp, which compile at the same time.

#include <profkit/impl/report/trace_json.hpp>
