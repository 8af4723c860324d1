// SPDX-License-Identifier: Apache-2.0
//
// A library that tests load and unload while its functions are named. With OTHER_NAMES, the same code has different names.

#ifdef OTHER_NAMES
#define sampled_first other_first
#define sampled_second other_second
#endif

extern "C" __attribute__((visibility("default"))) unsigned sampled_first(unsigned value) {
  for (unsigned i = 0; i < 100; ++i) value = value * 3 + i;
  return value;
}

extern "C" __attribute__((visibility("default"))) unsigned sampled_second(unsigned value) {
  for (unsigned i = 0; i < 100; ++i) value = value * 5 + i;
  return value;
}
