# Builds profkit with one header that uses std::string without including <string>. The check of headers alone must fail because of that
# header, and succeed once the include is added.

cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}/include/profkit")
file(COPY "${SOURCE_DIR}/CMakeLists.txt" "${SOURCE_DIR}/cmake" DESTINATION "${WORK_DIR}")
file(COPY "${SOURCE_DIR}/include/profkit/version.hpp" DESTINATION "${WORK_DIR}/include/profkit")
file(COPY "${SOURCE_DIR}/include/profkit/impl/record/recorder.hpp" DESTINATION "${WORK_DIR}/include/profkit/impl/record")
file(WRITE "${WORK_DIR}/cmake/headers.cmake" "set(PROFKIT_HEADERS profkit/version.hpp profkit/lazy.hpp)\n")
file(
  WRITE "${WORK_DIR}/tests/CMakeLists.txt"
  "find_package(Python3 REQUIRED COMPONENTS Interpreter)
include(\"${SOURCE_DIR}/tests/architecture/headers_alone.cmake\")
profkit_add_headers_alone(alone \"${WORK_DIR}/include\" profkit/version.hpp profkit/lazy.hpp)
"
)

function(verify out_failed out_log)
  execute_process(
    COMMAND
      "${CMAKE_COMMAND}" -S "${WORK_DIR}" -B "${WORK_DIR}/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
      -DPROFKIT_BUILD_EXAMPLES=OFF -DPROFKIT_BUILD_BENCHMARKS=OFF -DPROFKIT_BUILD_PROGRAM=OFF
    OUTPUT_VARIABLE log
    ERROR_VARIABLE log
    RESULT_VARIABLE failed
  )
  if(failed)
    message(FATAL_ERROR "Configuring failed:\n${log}")
  endif()
  execute_process(
    COMMAND "${CMAKE_COMMAND}" --build "${WORK_DIR}/build" --target alone
    OUTPUT_VARIABLE log
    ERROR_VARIABLE log
    RESULT_VARIABLE failed
  )
  set(${out_failed} "${failed}" PARENT_SCOPE)
  set(${out_log} "${log}" PARENT_SCOPE)
endfunction()

set(body "#pragma once\nnamespace profkit { inline std::string lazy() { return {}; } }\n")

file(WRITE "${WORK_DIR}/include/profkit/lazy.hpp" "${body}")
verify(failed log)
if(NOT failed)
  message(FATAL_ERROR "A header that does not compile alone passed:\n${log}")
endif()
if(NOT log MATCHES "profkit/lazy.hpp:2.*string")
  message(FATAL_ERROR "The build failed for another reason:\n${log}")
endif()

file(WRITE "${WORK_DIR}/include/profkit/lazy.hpp" "#include <string>\n${body}")
verify(failed log)
if(failed)
  message(FATAL_ERROR "A header that compiles alone failed:\n${log}")
endif()
