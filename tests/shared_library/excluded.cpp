// SPDX-License-Identifier: Apache-2.0
//
// A library whose scopes are in a static library, which `--exclude-libs` hides.
extern "C" void* excluded_in_archive();

extern "C" __attribute__((visibility("default"))) void* excluded() { return excluded_in_archive(); }
