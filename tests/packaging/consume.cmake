# Configures, builds and runs the consumer in WORK_DIR with the arguments after "--". With EXPECT_ERROR, configuring must fail with that
# text. With CONFIGURE_ONLY, nothing is built.

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

if(CONFIGURE_ONLY)
  return()
endif()

execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK_DIR}" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "building failed")
endif()

execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env PROFKIT=warmup=1,steps=3 "${WORK_DIR}/consumer"
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
)
message(STATUS "the program printed:\n${output}")
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the program ended with ${result}")
elseif(NOT output MATCHES "consumed")
  message(FATAL_ERROR "the report has no row for the scope")
endif()

if(EXISTS "${WORK_DIR}/host_of_plugin")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env PROFKIT=warmup=1,steps=3 "${WORK_DIR}/host_of_plugin" COMMAND_ERROR_IS_FATAL ANY)
endif()

find_program(NM nm)
if(NM AND CMAKE_HOST_SYSTEM_NAME STREQUAL "Linux")
  execute_process(COMMAND "${NM}" --dynamic "${WORK_DIR}/consumer" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  foreach(symbol IN ITEMS 8recorderE)
    if(NOT symbols MATCHES " [A-TV-Zuvw] _ZN7profkit6detail[a-z0-9_]*${symbol}\n")
      message(FATAL_ERROR "the program does not export ${symbol}; plug-ins would get a recorder of their own:\n${symbols}")
    endif()
  endforeach()
endif()
