# find_package(CUDAToolkit QUIET). CMake 3.25.1 stops at a toolkit without the library nvToolsExt, such as 13.0, if the project requires
# CMake 3.25: its module marks that library as deprecated without checking that it exists.

set(profkit_minimum_required_version ${CMAKE_MINIMUM_REQUIRED_VERSION})
if(CMAKE_VERSION VERSION_LESS 3.26)
  set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
endif()
find_package(CUDAToolkit QUIET)
set(CMAKE_MINIMUM_REQUIRED_VERSION ${profkit_minimum_required_version})
unset(profkit_minimum_required_version)
