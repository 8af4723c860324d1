# The language CUDA in the folder that includes this file, if the toolkit and its compiler are there. `profkit_has_cuda` says whether.

include(CheckLanguage)
check_language(CUDA)
set(profkit_has_cuda FALSE)
if(TARGET CUDA::cudart AND CMAKE_CUDA_COMPILER)
  set(profkit_has_cuda TRUE)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 75-virtual) # one pass of the compiler; any later GPU can run it
  endif()
  enable_language(CUDA)
endif()
