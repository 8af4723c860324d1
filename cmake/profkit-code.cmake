# profkit::profkit: profkit::headers and the code of sessions and reports. The compiled code of the package is used if it fits the project.
# Otherwise it is compiled once into a static library when a target first links it. An installed profkit-config.cmake sets
#   profkit_compiled_abi   what the compiled code of the package depends on (profkit-abi.cmake); empty: the package has none
#   profkit_compiled_cuda  major version of the CUDA toolkit of the compiled code of profkit::cupti; empty: the package has none
#   profkit_libdir         where the compiled code is
# PROFKIT_COMPILE_CODE=ON ignores the compiled code of the package.
if(TARGET profkit::profkit)
  return()
endif()

# Imported, so that a project can install and export a library that links it. Global, because the static library is global.
add_library(profkit::profkit INTERFACE IMPORTED GLOBAL)
set_target_properties(profkit::profkit PROPERTIES IMPORTED_NO_SYSTEM ON)

get_property(profkit_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if(NOT "CXX" IN_LIST profkit_languages)
  message(STATUS "profkit: the language CXX is not enabled, so one file of each program includes <profkit/code.hpp>")
  target_link_libraries(profkit::profkit INTERFACE profkit::headers)
  return()
endif()

set(profkit_uses_compiled FALSE)
if(profkit_compiled_abi AND NOT PROFKIT_COMPILE_CODE)
  include("${CMAKE_CURRENT_LIST_DIR}/profkit-abi.cmake")
  profkit_get_abi_difference(profkit_difference "${profkit_compiled_abi}")
  if(NOT EXISTS "${profkit_libdir}/libprofkit_code.a")
    set(profkit_difference "${profkit_libdir}/libprofkit_code.a does not exist")
  endif()
  if(profkit_difference STREQUAL "")
    set(profkit_uses_compiled TRUE)
  elseif(NOT profkit_FIND_QUIETLY)
    message(STATUS "profkit: the code of sessions and reports is compiled here, because ${profkit_difference}")
  endif()
endif()

if(profkit_uses_compiled)
  add_library(profkit_code STATIC IMPORTED GLOBAL)
  set_target_properties(
    profkit_code
    PROPERTIES IMPORTED_LOCATION "${profkit_libdir}/libprofkit_code.a"
               IMPORTED_LINK_INTERFACE_LANGUAGES CXX
               INTERFACE_LINK_LIBRARIES profkit::headers
  )
else()
  set(profkit_sources "")
  foreach(part IN ITEMS analysis document files html report session windows)
    list(APPEND profkit_sources "${CMAKE_CURRENT_LIST_DIR}/profkit-code-${part}.cpp")
  endforeach()
  add_library(profkit_code STATIC EXCLUDE_FROM_ALL ${profkit_sources})
  # A report is made once, so its code is small rather than fast. This also compiles in less time.
  foreach(part IN ITEMS document html report)
    set_source_files_properties(
      "${CMAKE_CURRENT_LIST_DIR}/profkit-code-${part}.cpp" PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release,RelWithDebInfo>:-Os>"
    )
  endforeach()
  # Of all parts, the code of analyses takes the most memory to compile. g++ needs 0.9 GB if it frees memory early, otherwise 1.1 GB.
  set_source_files_properties(
    "${CMAKE_CURRENT_LIST_DIR}/profkit-code-analysis.cpp"
    PROPERTIES COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-expand=30>"
  )
  target_link_libraries(profkit_code PUBLIC profkit::headers)
  # It can be linked into shared libraries. One unit of all parts would take 3 GB of memory.
  set_target_properties(profkit_code PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
endif()
target_link_libraries(profkit::profkit INTERFACE profkit_code)

# The same for the code of profkit::cupti, which links this library. It fits one major version of the toolkit.
if(TARGET CUDA::cudart AND TARGET CUDA::cupti)
  if(profkit_uses_compiled AND profkit_compiled_cuda STREQUAL "${CUDAToolkit_VERSION_MAJOR}"
     AND EXISTS "${profkit_libdir}/libprofkit_cupti_code.a"
  )
    add_library(profkit_cupti_code STATIC IMPORTED GLOBAL)
    set_target_properties(
      profkit_cupti_code
      PROPERTIES IMPORTED_LOCATION "${profkit_libdir}/libprofkit_cupti_code.a"
                 IMPORTED_LINK_INTERFACE_LANGUAGES CXX
                 INTERFACE_LINK_LIBRARIES "profkit_code;CUDA::cudart"
    )
  else()
    add_library(profkit_cupti_code STATIC EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/profkit-cupti-code.cpp")
    target_link_libraries(profkit_cupti_code PUBLIC profkit_code CUDA::cudart)
    target_include_directories(profkit_cupti_code SYSTEM PRIVATE "$<TARGET_PROPERTY:CUDA::cupti,INTERFACE_INCLUDE_DIRECTORIES>")
    set_target_properties(profkit_cupti_code PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
endif()
