# The trainer is a separate project that uses find_package(profkit) and find_package(Torch). If LibTorch is found, it is also built here.
# LibTorch's configuration stops CMake if it cannot be used, so check before including it.

find_path(
  PROFKIT_TORCH_CONFIG_DIR
  TorchConfig.cmake
  NO_DEFAULT_PATH
  PATHS ${Torch_DIR} ${Torch_ROOT} $ENV{Torch_ROOT} ${CMAKE_PREFIX_PATH} $ENV{CMAKE_PREFIX_PATH} ${CMAKE_SYSTEM_PREFIX_PATH}
  PATH_SUFFIXES Torch share/cmake/Torch
  DOC "Folder of TorchConfig.cmake"
)
mark_as_advanced(PROFKIT_TORCH_CONFIG_DIR)

set(trainer "examples/transformer_train")
if(NOT PROFKIT_TORCH_CONFIG_DIR)
  message(STATUS "profkit: ${trainer} is left out: no LibTorch (add torch.utils.cmake_prefix_path to CMAKE_PREFIX_PATH)")
elseif(EXISTS "${PROFKIT_TORCH_CONFIG_DIR}/../../../lib/libtorch_cuda.so" AND NOT CUDAToolkit_NVCC_EXECUTABLE)
  message(STATUS "profkit: ${trainer} is left out: this LibTorch is built for CUDA and its CMake files need nvcc (put it on PATH)")
else()
  # No device code is compiled here. Naming one architecture stops LibTorch from searching for a GPU.
  if(NOT DEFINED TORCH_CUDA_ARCH_LIST AND NOT DEFINED ENV{TORCH_CUDA_ARCH_LIST})
    set(TORCH_CUDA_ARCH_LIST 9.0)
  endif()
  add_subdirectory(${trainer})
endif()
