// SPDX-License-Identifier: Apache-2.0
//
// The programs that gpu_check.py runs, combined into one, because their headers take longer to compile than they do. Each gets the
// arguments of a main, beginning with its name.
#pragma once

namespace attribution_exact {
int run(int argc, char** argv);
}
namespace kernels_in_journal {
int run(int argc, char** argv);
}
namespace launch_times {
int run(int argc, char** argv);
}
namespace managed_pages {
int run(int argc, char** argv);
}
namespace nccl_ranks {
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
