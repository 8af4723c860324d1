// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

/// Launches an empty kernel of one block. In a separate file, because nvcc parses each file three times.
void launch_nothing(cudaStream_t stream);
