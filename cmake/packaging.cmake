# For users of the library: the target profkit::profkit, the CMake packages of the build folder and of the installed library, profkit.pc,
# and distribution packages.

# The files of the package are in one folder, both in the build folder and when installed.
set(
  profkit_package_files
  find_cuda_toolkit.cmake
  profkit-abi.cmake
  profkit-abi.cpp
  profkit-code.cmake
  profkit-code-analysis.cpp
  profkit-code-document.cpp
  profkit-code-files.cpp
  profkit-code-html.cpp
  profkit-code-report.cpp
  profkit-code-session.cpp
  profkit-code-windows.cpp
  profkit-cupti-code.cpp
  profkit.symbols
)
foreach(file IN LISTS profkit_package_files)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${file}" "${PROJECT_BINARY_DIR}/${file}" COPYONLY)
endforeach()
include("${PROJECT_BINARY_DIR}/profkit-code.cmake")

if(NOT PROFKIT_INSTALL)
  return()
endif()

set(profkit_component COMPONENT dev)

# The compiled code, which the package uses in projects that it fits.
set(profkit_compiled_abi "")
set(profkit_compiled_cuda "")
set(profkit_pc_library "")
if(PROFKIT_INSTALL_COMPILED)
  include(cmake/profkit-abi.cmake)
  set(profkit_config Release)
  if(CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(profkit_config ${CMAKE_BUILD_TYPE})
  endif()
  profkit_get_abi(profkit_compiled_abi ${profkit_config})
  if(profkit_compiled_abi STREQUAL "")
    message(FATAL_ERROR "The ABI of the compiler cannot be determined. Set PROFKIT_INSTALL_COMPILED=OFF to install without compiled code.")
  endif()
  set(profkit_compiled_targets profkit_code)
  if(TARGET profkit_cupti_code)
    list(APPEND profkit_compiled_targets profkit_cupti_code)
    set(profkit_compiled_cuda "${CUDAToolkit_VERSION_MAJOR}")
  endif()
  foreach(target IN LISTS profkit_compiled_targets)
    # Code with LTO fits only the compiler that compiled it.
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL OFF INTERPROCEDURAL_OPTIMIZATION OFF)
    target_compile_options(${target} PRIVATE -fno-lto)
    if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
      target_compile_options(${target} PRIVATE -O2)
    endif()
    install(
      CODE "if(NOT EXISTS \"$<TARGET_FILE:${target}>\")\n  message(FATAL_ERROR \"$<TARGET_FILE:${target}> does not exist. Run cmake --build, or configure with -DPROFKIT_INSTALL_COMPILED=OFF to install without compiled code.\")\nendif()"
      ${profkit_component}
    )
    install(TARGETS ${target} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${profkit_component})
  endforeach()
  set(profkit_pc_library "-L\${libdir} -lprofkit_code ")
endif()

install(TARGETS profkit_headers EXPORT profkit-targets FILE_SET HEADERS ${profkit_component})
foreach(layer IN ITEMS nccl mpi cuda cupti)
  install(TARGETS profkit_${layer} EXPORT profkit-${layer}-targets FILE_SET HEADERS ${profkit_component})
endforeach()
foreach(export IN ITEMS profkit-targets profkit-nccl-targets profkit-mpi-targets profkit-cuda-targets profkit-cupti-targets)
  install(EXPORT ${export} NAMESPACE profkit:: DESTINATION ${PROFKIT_INSTALL_CMAKEDIR} ${profkit_component})
  export(EXPORT ${export} NAMESPACE profkit:: FILE "${PROJECT_BINARY_DIR}/${export}.cmake")
endforeach()

# In the build folder, the code is compiled by each project.
set(profkit_libdir ${CMAKE_INSTALL_LIBDIR})
foreach(kind IN ITEMS installed build)
  if(kind STREQUAL "build")
    set(profkit_compiled_abi "")
    set(profkit_config_folder "")
  else()
    set(profkit_config_folder installed/)
  endif()
  configure_package_config_file(
    cmake/profkit-config.cmake.in ${profkit_config_folder}profkit-config.cmake
    INSTALL_DESTINATION ${PROFKIT_INSTALL_CMAKEDIR}
    PATH_VARS profkit_libdir
  )
endforeach()
# From 1.0 on, a minor version keeps the interface (docs/compatibility.md).
set(profkit_compatible SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(profkit_compatible SameMinorVersion)
endif()
write_basic_package_version_file(profkit-config-version.cmake COMPATIBILITY ${profkit_compatible} ARCH_INDEPENDENT)
list(APPEND profkit_package_files installed/profkit-config.cmake profkit-config-version.cmake)
list(TRANSFORM profkit_package_files PREPEND "${PROJECT_BINARY_DIR}/")
install(FILES ${profkit_package_files} DESTINATION ${PROFKIT_INSTALL_CMAKEDIR} ${profkit_component})

# Paths in profkit.pc are relative to it, so that an installed tree can be moved.
set(profkit_pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)
file(RELATIVE_PATH profkit_prefix_from_pc "/${profkit_pkgconfig_dir}" "/")
string(REGEX REPLACE "/$" "" profkit_prefix_from_pc "${profkit_prefix_from_pc}")
# Names the exported symbols one by one, which every linker supports, and which has no effect on shared libraries.
file(READ "${PROJECT_SOURCE_DIR}/include/profkit/impl/record/recorder.hpp" profkit_recorder_header)
if(NOT profkit_recorder_header MATCHES "namespace profkit::(layout_[0-9]+)")
  message(FATAL_ERROR "include/profkit/impl/record/recorder.hpp has no namespace profkit::layout_N.")
endif()
string(LENGTH "${CMAKE_MATCH_1}" profkit_layout_length)
set(profkit_exports)
foreach(symbol IN ITEMS 8recorder 11scope_nodes)
  string(APPEND profkit_exports " -Wl,--export-dynamic-symbol=_ZN7profkit${profkit_layout_length}${CMAKE_MATCH_1}${symbol}E")
endforeach()
foreach(version IN ITEMS 4 5 6)
  string(APPEND profkit_exports " -Wl,--export-dynamic-symbol=ncclProfiler_v${version}")
endforeach()
configure_file(cmake/profkit.pc.in profkit.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/profkit.pc" DESTINATION ${profkit_pkgconfig_dir} ${profkit_component})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} ${profkit_component})
