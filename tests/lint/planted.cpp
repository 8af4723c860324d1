// SPDX-License-Identifier: Apache-2.0
//
// clang-tidy has to object to this unit, whose faults are in a header.
#include "include/profkit/planted.hpp"

int main() { return planted({"planted"}).empty() ? 1 : 0; }
