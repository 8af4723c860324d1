# Configures, builds and runs the consumer in WORK_DIR with the arguments after "--". With EXPECT_ERROR, configuring must fail with that
# text. With CONFIGURE_ONLY, nothing is built. With EXPECT_OUTPUT, configuring prints that text. COMPILED: whether the build compiles only
# files of the consumer. EXPECT_LINK_ERROR: names of functions and a macro, separated by commas; the target `mismatched` does not link, and
# the error names the macro with each function.

cmake_minimum_required(VERSION 3.25)

set(arguments "")
set(past_dashes FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(past_dashes)
    list(APPEND arguments "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(past_dashes TRUE)
  endif()
endforeach()

file(REMOVE_RECURSE "${WORK_DIR}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/consumer" -B "${WORK_DIR}" ${arguments}
  RESULT_VARIABLE result
  OUTPUT_VARIABLE log
  ERROR_VARIABLE log
)
message(STATUS "${log}")
if(EXPECT_ERROR)
  string(REGEX REPLACE "[ \n]+" " " flat "${log}")
  string(FIND "${flat}" "${EXPECT_ERROR}" position)
  if(result EQUAL 0)
    message(FATAL_ERROR "configuring should have failed")
  elseif(position EQUAL -1)
    message(FATAL_ERROR "the error does not say: ${EXPECT_ERROR}")
  endif()
  return()
elseif(NOT result EQUAL 0)
  message(FATAL_ERROR "configuring failed")
endif()

if(EXPECT_OUTPUT)
  string(FIND "${log}" "${EXPECT_OUTPUT}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "configuring does not print: ${EXPECT_OUTPUT}")
  endif()
endif()
if(CONFIGURE_ONLY)
  return()
endif()

execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK_DIR}" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "building failed")
endif()

file(GLOB programs "${WORK_DIR}/consumer" "${WORK_DIR}/consumer_[0-9l]*")
foreach(program IN LISTS programs)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env PROFKIT=warmup=1,steps=3,report=full "${program}"
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
  )
  message(STATUS "${program} printed:\n${output}")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the program ended with ${result}")
  elseif(NOT output MATCHES "consumed")
    message(FATAL_ERROR "the report has no row for the scope")
  endif()
endforeach()

if(NOT "${COMPILED}" STREQUAL "")
  file(GLOB_RECURSE objects "${WORK_DIR}/*profkit-*.cpp.o")
  if((COMPILED AND objects) OR NOT (COMPILED OR objects))
    message(FATAL_ERROR "objects of profkit: ${objects}")
  endif()
endif()

if(EXPECT_LINK_ERROR)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" --build "${WORK_DIR}" --target mismatched
    RESULT_VARIABLE result
    OUTPUT_VARIABLE log
    ERROR_VARIABLE log
  )
  message(STATUS "${log}")
  if(result EQUAL 0)
    message(FATAL_ERROR "linking should have failed")
  endif()
  string(REPLACE "," ";" names "${EXPECT_LINK_ERROR}")
  list(POP_BACK names macro)
  foreach(name IN LISTS names)
    if(NOT log MATCHES "undefined [^\n]*::${name}\\[abi:${macro}\\]")
      message(FATAL_ERROR "the error does not name ${macro} with ${name}")
    endif()
  endforeach()
endif()

if(EXISTS "${WORK_DIR}/host_of_plugin")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env PROFKIT=warmup=1,steps=3 "${WORK_DIR}/host_of_plugin" COMMAND_ERROR_IS_FATAL ANY)
endif()

find_program(NM nm)
if(NM AND CMAKE_HOST_SYSTEM_NAME STREQUAL "Linux")
  execute_process(COMMAND "${NM}" --dynamic "${WORK_DIR}/consumer" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  foreach(symbol IN ITEMS 8recorderE)
    if(NOT symbols MATCHES " [A-TV-Zuvw] _ZN7profkit[0-9]*layout_[0-9]*${symbol}\n")
      message(FATAL_ERROR "the program does not export ${symbol}; plug-ins would get a recorder of their own:\n${symbols}")
    endif()
  endforeach()
endif()
