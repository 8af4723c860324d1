# The cost of scopes. The programs include scope.hpp alone, like measured code; the session is compiled once. Always with -O2, because the
# recorded instruction counts are for -O2.

find_path(PROFKIT_NVTX_INCLUDE nvtx3/nvtx3.hpp HINTS ${CUDAToolkit_INCLUDE_DIRS} DOC "Include folder of NVTX, for the comparison of scopes")
find_package(benchmark QUIET)

set(profkit_bench_options "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-O2>")

add_library(profkit_bench_session STATIC bench_session.cpp)
target_compile_options(profkit_bench_session PRIVATE ${profkit_bench_options})
target_link_libraries(profkit_bench_session PUBLIC profkit::profkit PRIVATE profkit_warnings)
if(PROFKIT_NVTX_INCLUDE)
  target_include_directories(profkit_bench_session SYSTEM PUBLIC "${PROFKIT_NVTX_INCLUDE}")
endif()

function(profkit_add_scope_bench name source)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE profkit_bench_session profkit_warnings)
  target_compile_options(${name} PRIVATE ${profkit_bench_options})
endfunction()

profkit_add_scope_bench(profkit_scope_instructions scope_instructions.cpp)
profkit_add_scope_bench(profkit_log_memory log_memory.cpp)
profkit_add_scope_bench(profkit_first_use first_use.cpp)
if(PROFKIT_NVTX_INCLUDE)
  profkit_add_scope_bench(profkit_nvtx_cost nvtx_cost.cpp)
endif()
if(benchmark_FOUND)
  profkit_add_scope_bench(profkit_scope_cost scope_cost.cpp)
  target_link_libraries(profkit_scope_cost PRIVATE benchmark::benchmark)
else()
  message(STATUS "profkit: no Google Benchmark (Debian: libbenchmark-dev), bench/scope_cost.cpp is not built")
endif()

if(PROFKIT_BUILD_TESTS)
  # Exact instruction counts are compared with the recorded ones. The check must fail for a scope with four additional instructions.
  profkit_add_scope_bench(profkit_dearer_scope_instructions scope_instructions.cpp)
  target_compile_definitions(profkit_dearer_scope_instructions PRIVATE BENCH_DEARER_SCOPE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(
    check_command
    "${Python3_EXECUTABLE}"
    -B
    "${CMAKE_CURRENT_SOURCE_DIR}/bench_instructions.py"
    --compiler
    "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
    --recorded
    "${CMAKE_CURRENT_SOURCE_DIR}/recorded.json"
  )
  add_test(NAME bench.instructions_of_a_scope COMMAND ${check_command} "$<TARGET_FILE:profkit_scope_instructions>")
  add_test(NAME bench.instructions_check_can_fail COMMAND ${check_command} --must-fail "$<TARGET_FILE:profkit_dearer_scope_instructions>")
  add_test(NAME bench.check_can_fail COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/bench_check_test.py" ${profkit_compares})
  set_tests_properties(
    bench.instructions_of_a_scope
    bench.instructions_check_can_fail
    bench.check_can_fail
    PROPERTIES LABELS instructions SKIP_RETURN_CODE 4 TIMEOUT 120
  )
endif()
