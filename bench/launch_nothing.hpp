// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

/// Launches an empty kernel of one block. In a file of its own: nvcc parses what it compiles three times.
void launch_nothing(cudaStream_t stream);
