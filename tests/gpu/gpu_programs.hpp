// SPDX-License-Identifier: Apache-2.0
//
// Programs that gpu_check.py runs, in one: they take less time to compile than the headers that they include. Each gets the arguments of a
// main, the first of which is its name.
#pragma once

namespace attribution_exact {
int run(int argc, char** argv);
}
namespace kernels_in_journal {
int run(int argc, char** argv);
}
namespace slower_scope {
int run(int argc, char** argv);
}
namespace steady_load {
int run(int argc, char** argv);
}
namespace validation_steps {
int run(int argc, char** argv);
}
