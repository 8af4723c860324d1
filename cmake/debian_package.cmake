# Two Debian packages: run `cpack -G DEB` in the build folder. libprofkit-dev has the library; profkit has the program, if it is built.

set(CPACK_PACKAGE_NAME profkit)
set(CPACK_PACKAGE_VENDOR "profkit")
set(CPACK_PACKAGE_CONTACT "The profkit developers <profkit@localhost>") # required by Debian
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)

set(CPACK_COMPONENT_DEV_DESCRIPTION "Profiles a C++ or CUDA program from inside. GPU timers and kernels need a CUDA toolkit.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libprofkit-dev)
if(NOT PROFKIT_INSTALL_COMPILED)
  set(CPACK_DEBIAN_DEV_PACKAGE_ARCHITECTURE all)
endif()
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libfmt-dev (>= 9)")

if(TARGET profkit_program)
  list(APPEND CPACK_COMPONENTS_ALL program)
  set(
    CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "The program profkit records programs, and compares recorded runs: it says whether the step, its scopes and its kernels became faster or slower."
  )
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME profkit)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION devel)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
