// SPDX-License-Identifier: Apache-2.0
//
// A library that tests open and close while functions in it are named.

extern "C" __attribute__((visibility("default"))) int sampled_first(int value) {
  for (int i = 0; i < 100; ++i) value = value * 3 + i;
  return value;
}

extern "C" __attribute__((visibility("default"))) int sampled_second(int value) {
  for (int i = 0; i < 100; ++i) value = value * 5 + i;
  return value;
}
