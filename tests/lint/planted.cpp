// SPDX-License-Identifier: Apache-2.0
//
// clang-tidy must report this unit, because of a fault in its header.
#include "include/profkit/planted.hpp"

int main() { return planted({"planted"}).empty() ? 1 : 0; }
