# A port of the surrounding sources: vcpkg install profkit --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES program PROFKIT_BUILD_PROGRAM)
set(VCPKG_BUILD_TYPE release) # the compiled code of a release fits programs of all configurations
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features} -DPROFKIT_BUILD_TESTS=OFF -DPROFKIT_BUILD_EXAMPLES=OFF -DPROFKIT_BUILD_BENCHMARKS=OFF -DPROFKIT_INSTALL=ON
          "-DPROFKIT_INSTALL_CMAKEDIR=share/${PORT}"
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup()
vcpkg_fixup_pkgconfig()
if("program" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES profkit AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug" "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
