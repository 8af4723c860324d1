# Enables the language CUDA in the folder that includes this file, if the toolkit and its compiler are found. Sets `profkit_has_cuda`.

include(CheckLanguage)
check_language(CUDA)
set(profkit_has_cuda FALSE)
if(TARGET CUDA::cudart AND CMAKE_CUDA_COMPILER)
  set(profkit_has_cuda TRUE)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 75-virtual) # one compiler pass; the driver compiles its PTX for later GPUs
  endif()
  enable_language(CUDA)
endif()
