/* SPDX-License-Identifier: Apache-2.0 */
/* A program in C with steps, scopes and counters; its session is that of PROFKIT. */
#include <profkit/c.h>
#include <stdio.h>

int main(void) {
  for (int i = 0; i < 8; ++i) {
    profkit_step_begin();
    profkit_scope const solve = profkit_begin("solve");
    profkit_scope const level = profkit_begin_indexed("level", i % 2);
    profkit_counter("residual", 1.0 / (1.0 + i));
    profkit_counter(NULL, 1.0);
    profkit_end(profkit_begin(NULL));
    profkit_end(level);
    profkit_end(solve);
  }
  profkit_step_end();
  printf("done\n");
  return 0;
}
