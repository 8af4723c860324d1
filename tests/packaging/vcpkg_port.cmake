# Runs the port of packaging/vcpkg with stand-ins for vcpkg's functions: configure, install, move CMake files, and vcpkg's checks of an
# installed port. vcpkg itself is not available from the package registries that tests may use.
#   cmake -DSOURCE_DIR= -DWORK_DIR= -DVERSION= -DGENERATOR= -P vcpkg_port.cmake

cmake_minimum_required(VERSION 3.25)

set(PORT profkit)
set(FEATURES core)
set(CURRENT_PACKAGES_DIR "${WORK_DIR}/packages/profkit")
set(port_dir "${SOURCE_DIR}/packaging/vcpkg/profkit")
file(REMOVE_RECURSE "${WORK_DIR}")

file(READ "${port_dir}/vcpkg.json" manifest)
foreach(key IN ITEMS name version description license)
  string(JSON ${key} GET "${manifest}" ${key})
endforeach()
if(NOT name STREQUAL PORT OR NOT version STREQUAL VERSION)
  message(FATAL_ERROR "vcpkg.json describes ${name} ${version}; this is profkit ${VERSION}")
endif()
string(JSON count LENGTH "${manifest}" dependencies)
math(EXPR last "${count} - 1")
set(dependencies "")
foreach(i RANGE ${last})
  string(JSON type TYPE "${manifest}" dependencies ${i})
  if(type STREQUAL "OBJECT")
    string(JSON dependency GET "${manifest}" dependencies ${i} name)
  else()
    string(JSON dependency GET "${manifest}" dependencies ${i})
  endif()
  list(APPEND dependencies ${dependency})
endforeach()

# Functions of a helper port exist only if the port depends on it.
function(needs port)
  if(NOT port IN_LIST dependencies)
    message(FATAL_ERROR "the port uses ${port} and does not depend on it")
  endif()
endfunction()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  set(options "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    string(JSON known GET "${manifest}" features ${feature} description)
    if(feature IN_LIST FEATURES)
      list(APPEND options -D${option}=ON)
    else()
      list(APPEND options -D${option}=OFF)
    endif()
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} "${options}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  needs(vcpkg-cmake)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${WORK_DIR}/build" -G "${GENERATOR}" "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  needs(vcpkg-cmake)
  # Instead of compiling it again.
  file(COPY ${COMPILED_CODE} DESTINATION "${WORK_DIR}/build")
  run("${CMAKE_COMMAND}" --install "${WORK_DIR}/build")
endfunction()

function(vcpkg_cmake_config_fixup)
  needs(vcpkg-cmake-config)
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/share/${PORT}/${PORT}-config.cmake")
    message(FATAL_ERROR "the CMake files are not in share/${PORT}, where vcpkg looks for them")
  endif()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(COPY_FILE "${arg_FILE_LIST}" "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright")
endfunction()

# vcpkg installs a port into another folder than the one of its build.
set(CMAKE_CURRENT_LIST_DIR "${port_dir}")
include("${port_dir}/portfile.cmake")

foreach(
  wanted
  IN
  ITEMS include/profkit/profkit.hpp lib/libprofkit_code.a share/profkit/profkit.symbols share/profkit/copyright share/pkgconfig/profkit.pc
)
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/${wanted}")
    message(FATAL_ERROR "the port installs no ${wanted}")
  endif()
endforeach()
foreach(
  unwanted
  IN
  ITEMS debug bin share/doc share/cmake
)
  if(EXISTS "${CURRENT_PACKAGES_DIR}/${unwanted}")
    message(FATAL_ERROR "the port leaves ${unwanted}, which vcpkg complains of")
  endif()
endforeach()
file(GLOB_RECURSE files "${CURRENT_PACKAGES_DIR}/share/profkit/*.cmake")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  string(FIND "${text}" "${WORK_DIR}" position)
  if(NOT position EQUAL -1)
    message(FATAL_ERROR "${file} names the folder in which it was built")
  endif()
endforeach()
file(RENAME "${CURRENT_PACKAGES_DIR}" "${WORK_DIR}/installed")
