/* SPDX-License-Identifier: Apache-2.0 */
/* Linked statically. */
#include <stdio.h>

int main(void) {
  puts("static");
  return 6;
}
