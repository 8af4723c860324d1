# The unit tests of the library, one program per folder, and separate test programs.

profkit_add_unit_tests(top SOURCES options.test.cpp session.test.cpp session_journal.test.cpp session_live_reports.test.cpp session_rank.test.cpp session_snapshot.test.cpp session_windows.test.cpp)
profkit_add_unit_tests(record SOURCES record/clock.test.cpp record/collective.test.cpp record/exceptions.test.cpp record/fork.test.cpp record/memory_events.test.cpp record/named_scope.test.cpp record/quiet_thread.test.cpp record/scope.test.cpp record/scope_listener.test.cpp
                                      record/scope_token.test.cpp record/step.test.cpp record/thread_exit.test.cpp record/thread_log.test.cpp record/work.test.cpp)
profkit_add_unit_tests(drain SOURCES drain/drain_pace.test.cpp drain/event_records.test.cpp drain/log_drain.test.cpp drain/scope_paths.test.cpp LIBRARIES ${CMAKE_DL_LIBS})
profkit_add_unit_tests(collect SOURCES collect/run_ahead_limiter.test.cpp collect/function_names.test.cpp collect/host_probe.test.cpp collect/host_samples.test.cpp collect/host_samples_safe.test.cpp collect/signal_stack.test.cpp collect/memory_source.test.cpp collect/nccl_collectives.test.cpp docs/host_swap.test.cpp LIBRARIES profkit::nccl ${CMAKE_DL_LIBS})
# The example of CONTRIBUTING.md includes headers as a file in include/profkit does.
target_include_directories(profkit_collect_tests PRIVATE docs "${PROJECT_SOURCE_DIR}/include/profkit")
# Two libraries that tests load and unload. Their functions have the same addresses and different names.
foreach(library IN ITEMS profkit_sampled profkit_sampled_other)
  add_library(${library} MODULE collect/sampled_library.cpp)
  # No coverage: unloading the library would leak the coverage runtime's memory.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${library} PRIVATE -fno-profile-instr-generate -fno-coverage-mapping)
    target_link_options(${library} PRIVATE -noprofilelib)
  endif()
  target_compile_features(${library} PRIVATE cxx_std_17)
  target_link_libraries(${library} PRIVATE profkit_warnings)
  add_dependencies(profkit_collect_tests ${library})
endforeach()
target_compile_definitions(profkit_sampled_other PRIVATE OTHER_NAMES)
target_compile_options(profkit_sampled PRIVATE -g1) # a test finds its source lines
target_compile_definitions(
  profkit_collect_tests
  PRIVATE SAMPLED_LIBRARY="$<TARGET_FILE:profkit_sampled>" SAMPLED_OTHER_LIBRARY="$<TARGET_FILE:profkit_sampled_other>"
)
if(CMAKE_CROSSCOMPILING)
  target_compile_definitions(profkit_collect_tests PRIVATE RUNS_IN_EMULATOR)
endif()
profkit_add_unit_tests(profile ONE_THREAD SOURCES profile/journal.test.cpp profile/atomic_file.test.cpp profile/later_version.test.cpp profile/profile_builder.test.cpp profile/save_load.test.cpp)
if(NOT CMAKE_CROSSCOMPILING) # in an emulator the reports of recorded profiles analyse them
  profkit_add_unit_tests(analyze ONE_THREAD SOURCES analyze/adopted_scopes.test.cpp analyze/analysis.test.cpp analyze/analyze.test.cpp analyze/attribution.test.cpp
                                       analyze/collected_steps.test.cpp analyze/cuda_graphs.test.cpp analyze/device_peaks.test.cpp analyze/excluded_steps.test.cpp analyze/gpu_period.test.cpp analyze/gpu_idle.test.cpp
                                       analyze/gpu_summary.test.cpp
                                       analyze/kernel_class.test.cpp analyze/kernels_of_scope.test.cpp analyze/mean_interval.test.cpp
                                       analyze/nsys_kernel_name.test.cpp analyze/outliers.test.cpp analyze/quantile_sketch.test.cpp analyze/rank_timeline.test.cpp analyze/ranks.test.cpp analyze/ranks_matching.test.cpp analyze/ranks_messages.test.cpp analyze/recorded_ranks.test.cpp
                                       analyze/samples.test.cpp analyze/scope_memory.test.cpp analyze/scope_work.test.cpp analyze/statistics.test.cpp analyze/series_description.test.cpp analyze/step_verdict.test.cpp analyze/straggler.test.cpp
                                       analyze/stop_rule.test.cpp analyze/trend_windows.test.cpp
                                       analyze/step_budget.test.cpp analyze/step_kinds.test.cpp analyze/step_scenarios.test.cpp analyze/step_series.test.cpp analyze/time_per_step.test.cpp)
endif()
if(nlohmann_json_FOUND)
  profkit_add_unit_tests(report ONE_THREAD SOURCES report/adopted_table.test.cpp report/budget_table.test.cpp report/column_numbers.test.cpp report/deep_scopes.test.cpp report/findings.test.cpp report/first_screen.test.cpp report/gpu_report.test.cpp report/html_page.test.cpp
                                        report/memory_table.test.cpp report/names.test.cpp report/nsys_csv.test.cpp report/recorded.test.cpp report/report.test.cpp report/run_ahead.test.cpp report/sampled_picture.test.cpp report/samples_section.test.cpp report/summary_file.test.cpp report/printers.test.cpp
                                        report/trace_json.test.cpp report/verdict_text.test.cpp report/utilization.test.cpp report/work_table.test.cpp LIBRARIES nlohmann_json::nlohmann_json)
  # These use the same names as other tests, such as section and made, so they cannot be in a unity build with them.
  set_source_files_properties(report/html_page.test.cpp report/sampled_picture.test.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
else()
  message(STATUS "profkit: no nlohmann_json, report.json is not tested")
endif()
foreach(folder IN ITEMS top analyze report)
  if(TARGET profkit_${folder}_tests)
    target_compile_definitions(
      profkit_${folder}_tests PRIVATE TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data" TEST_RANKS="${profkit_recorded_ranks}"
                                      PROJECT_DOCS="${PROJECT_SOURCE_DIR}/docs"
    )
  endif()
endforeach()

if(TARGET profkit_traces)
  profkit_add_test_program(NAME write_traces SOURCES tools/write_traces.cpp LIBRARIES profkit_traces NO_CATCH NO_TEST)
  file(GLOB recorded_profiles "${CMAKE_CURRENT_SOURCE_DIR}/data/*.profile")
  foreach(what IN ITEMS packing slices)
    add_test(NAME pftrace_${what} COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/tools/compare_traces.py" ${what}
                                          "$<TARGET_FILE:profkit_write_traces>" made ${recorded_profiles})
    set_tests_properties(pftrace_${what} PROPERTIES LABELS cpu SKIP_RETURN_CODE 4 TIMEOUT ${profkit_test_timeout})
  endforeach()
  set(four_ranks "${profkit_recorded_ranks}/four/rank")
  add_test(NAME pftrace_ranks COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/tools/compare_traces.py" ranks "$<TARGET_FILE:profkit_write_traces>"
                                      ${four_ranks}0.profile ${four_ranks}1.profile ${four_ranks}2.profile ${four_ranks}3.profile)
  set_tests_properties(pftrace_ranks PROPERTIES LABELS cpu SKIP_RETURN_CODE 4 TIMEOUT ${profkit_test_timeout})
endif()

if(TARGET profkit_comparison AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  # report.html in a browser; the pages are the same in all stages.
  profkit_add_test_program(NAME write_pages SOURCES browser/write_pages.cpp LIBRARIES profkit_comparison NO_CATCH NO_TEST)
  target_compile_definitions(profkit_write_pages PRIVATE TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data" TEST_RANKS="${profkit_recorded_ranks}")
  add_test(NAME browser.pages COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/browser/check_pages.py" "$<TARGET_FILE:profkit_write_pages>")
  set_tests_properties(browser.pages PROPERTIES LABELS browser SKIP_RETURN_CODE 4 TIMEOUT 600 COST 60)
endif()

if(TARGET profkit_program)
  # The program profkit: its computations, and the program itself on reports that the tests create.
  set(tools_tests tools/captured_steps.test.cpp tools/compare.test.cpp tools/compare_command.test.cpp tools/compare_functions.test.cpp tools/comparison_document.test.cpp tools/golden_files.test.cpp tools/pftrace.test.cpp tools/ranks_report.test.cpp tools/report_command.test.cpp tools/step_choice.test.cpp tools/stuck.test.cpp tools/summary_json.test.cpp tools/watch_screen.test.cpp tools/watched_journal.test.cpp)
  if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    # Error rates from thousands of simulated comparisons; the other tests run the same code with a sanitizer.
    list(APPEND tools_tests tools/compare_rates.test.cpp)
  endif()
  profkit_add_unit_tests(tools SOURCES ${tools_tests} LIBRARIES profkit_comparison profkit_traces nlohmann_json::nlohmann_json)
  target_compile_definitions(profkit_tools_tests PRIVATE TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data" TEST_RANKS="${profkit_recorded_ranks}" PROFKIT_PROGRAM="$<TARGET_FILE:profkit_program>")
  add_dependencies(profkit_tools_tests profkit_program)
endif()

# Replaces operator new for the whole program.
profkit_add_test_program(NAME allocation SOURCES record/allocation.test.cpp)

# Fills the table of scope nodes.
profkit_add_test_program(NAME scope_node SOURCES record/scope_node.test.cpp)

# Forbids system calls.
profkit_add_test_program(NAME system_calls SOURCES record/system_calls.test.cpp NO_CATCH)

# Its clock ticks once per millisecond.
profkit_add_test_program(NAME coarse_clock SOURCES record/coarse_clock.test.cpp)

# Sets its clock.
profkit_add_test_program(NAME clock_changes SOURCES record/clock_changes.test.cpp LIBRARIES ${CMAKE_DL_LIBS})

# Scopes before and after main.
profkit_add_test_program(NAME static_lifetime SOURCES record/static_lifetime.test.cpp NO_CATCH)

# Kills recording programs, and reads their journals.
profkit_add_test_program(NAME journal_kills SOURCES journal_kills.cpp NO_CATCH TIMEOUT 240)
if(CMAKE_CROSSCOMPILING)
  target_compile_definitions(profkit_journal_kills PRIVATE RUNS_SLOWLY) # in the emulator
endif()

# One executable, two libraries that it links, two that it opens, and one that it opens and closes.
foreach(plugin IN ITEMS linked_a linked_b opened_a opened_b closed)
  add_library(profkit_${plugin} SHARED shared_library/plugin.cpp)
  target_compile_definitions(profkit_${plugin} PRIVATE PLUGIN_FUNCTION=${plugin})
  target_link_libraries(profkit_${plugin} PRIVATE profkit::headers profkit_warnings)
  set_target_properties(profkit_${plugin} PROPERTIES CXX_VISIBILITY_PRESET hidden)
endforeach()
# One more library, which hides all symbols except its own.
add_library(profkit_hidden SHARED shared_library/plugin.cpp)
target_compile_definitions(profkit_hidden PRIVATE PLUGIN_FUNCTION=hidden)
target_link_libraries(profkit_hidden PRIVATE profkit::headers profkit_warnings)
target_link_options(profkit_hidden PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/shared_library/hidden.map")
# Libraries with their own recorder for other reasons.
foreach(plugin IN ITEMS symbolic excluded deep moved)
  if(plugin STREQUAL "excluded")
    add_library(profkit_archive STATIC shared_library/plugin.cpp)
    set_target_properties(profkit_archive PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_definitions(profkit_archive PRIVATE PLUGIN_FUNCTION=excluded_in_archive)
    add_library(profkit_excluded SHARED shared_library/excluded.cpp)
    target_link_libraries(profkit_excluded PRIVATE profkit_archive)
    set(compiled profkit_archive)
  else()
    add_library(profkit_${plugin} SHARED shared_library/plugin.cpp)
    target_compile_definitions(profkit_${plugin} PRIVATE PLUGIN_FUNCTION=${plugin})
    set(compiled profkit_${plugin})
  endif()
  target_link_libraries(${compiled} PRIVATE profkit::headers profkit_warnings)
  target_compile_options(${compiled} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>) # g++ would share it nevertheless
endforeach()
target_link_options(profkit_symbolic PRIVATE "LINKER:-Bsymbolic")
target_link_options(profkit_excluded PRIVATE "LINKER:--exclude-libs,ALL")
# Nothing else may keep it in the process.
target_compile_options(profkit_closed PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
profkit_add_test_program(NAME shared_library SOURCES shared_library/shared_library.test.cpp LIBRARIES profkit_linked_a profkit_linked_b)
target_link_libraries(profkit_shared_library PRIVATE ${CMAKE_DL_LIBS})
foreach(plugin IN ITEMS opened_a opened_b closed hidden symbolic excluded deep moved)
  string(TOUPPER ${plugin} name)
  target_compile_definitions(profkit_shared_library PRIVATE ${name}="$<TARGET_FILE:profkit_${plugin}>")
  add_dependencies(profkit_shared_library profkit_${plugin})
endforeach()
# Two libraries with the code of sessions, of two versions. They take a minute of processor time to compile, so one build is enough.
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND NOT CMAKE_CROSSCOMPILING)
  set(other_version "${CMAKE_CURRENT_BINARY_DIR}/other_version")
  set(stamp "${CMAKE_CURRENT_BINARY_DIR}/other_version.stamp")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/profkit/*")
  add_custom_command(
    OUTPUT "${stamp}"
    COMMAND
      "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}/include" "-DTARGET=${other_version}" -P
      "${CMAKE_CURRENT_SOURCE_DIR}/shared_library/other_version.cmake"
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS ${headers} shared_library/other_version.cmake
  )
  add_custom_target(profkit_headers_of_other_version DEPENDS "${stamp}")
  file(GLOB parts "${PROJECT_SOURCE_DIR}/cmake/profkit-code-*.cpp")
  add_library(profkit_other_version SHARED shared_library/session_library.cpp ${parts})
  target_include_directories(profkit_other_version BEFORE PRIVATE "${other_version}")
  target_link_libraries(profkit_other_version PRIVATE profkit::headers)
  target_compile_options(profkit_other_version PRIVATE -O0)
  add_dependencies(profkit_other_version profkit_headers_of_other_version)
  set_target_properties(profkit_other_version PROPERTIES UNITY_BUILD OFF)
  add_library(profkit_this_version SHARED shared_library/session_library.cpp)
  target_link_libraries(profkit_this_version PRIVATE profkit::profkit)
  foreach(version IN ITEMS this other)
    target_compile_definitions(profkit_${version}_version PRIVATE LIBRARY=${version}_version)
    target_link_libraries(profkit_${version}_version PRIVATE profkit_warnings profkit_test_options)
  endforeach()
  profkit_add_test_program(NAME versions SOURCES shared_library/versions.test.cpp LIBRARIES profkit_this_version profkit_other_version)
  target_compile_definitions(profkit_versions PRIVATE VERSION_IN_CMAKE="${PROJECT_VERSION}")
endif()
# An executable that exports nothing.
# AddressSanitizer must export its allocation functions: otherwise libstdc++ frees what the executable allocates by others.
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize=address")
  profkit_add_test_program(NAME no_exports SOURCES shared_library/no_exports.cpp LIBRARIES ${CMAKE_DL_LIBS} NO_CATCH ARGUMENTS "$<TARGET_FILE:profkit_deep>")
  target_link_options(profkit_no_exports PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/shared_library/no_exports.map")
  add_dependencies(profkit_no_exports profkit_deep)
endif()

if(TARGET CUDA::nvtx3)
  # A library that NVTX loads as it would load Nsight Systems.
  add_library(profkit_nvtx_injection MODULE collect/nvtx_injection.cpp)
  target_compile_features(profkit_nvtx_injection PRIVATE cxx_std_17)
  target_link_libraries(profkit_nvtx_injection PRIVATE CUDA::nvtx3 profkit_warnings)
  set(injection "NVTX_INJECTION64_PATH=$<TARGET_FILE:profkit_nvtx_injection>")
  profkit_add_test_program(NAME nvtx SOURCES collect/nvtx.test.cpp collect/nvtx_light_unit.cpp ENVIRONMENT ${injection})
  profkit_add_test_program(NAME nvtx_off SOURCES collect/nvtx_off.test.cpp ENVIRONMENT ${injection} PROFKIT=nvtx=off)
  add_dependencies(profkit_nvtx profkit_nvtx_injection)
  set_target_properties(profkit_nvtx PROPERTIES UNITY_BUILD OFF) # one of its units does not include NVTX
endif()

# Nsight Systems must count the same ranges. Uses nsys on PATH or -DPROFKIT_NSYS=.
profkit_add_test_program(
  NAME nsys
  SOURCES nsys/scopes_program.cpp
  NO_CATCH
  COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/nsys/compare_ranges.py" "${PROFKIT_NSYS}" "$<TARGET_FILE:profkit_nsys>"
  LABELS nsys)

# With capture of the range measure_loop, it must record the measured steps and nothing else.
add_test(NAME nsys_capture COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/nsys/compare_ranges.py" "${PROFKIT_NSYS}"
                                   "$<TARGET_FILE:profkit_nsys>" --capture)
set_tests_properties(nsys_capture PROPERTIES LABELS nsys SKIP_RETURN_CODE 4 TIMEOUT ${profkit_test_timeout})
# Tests with nsys must not run concurrently, because one could record the ranges of the other.
set_tests_properties(nsys nsys_capture PROPERTIES RESOURCE_LOCK nsys)

if(TARGET CUDA::cudart)
  # The GPU timers on an imitated CUDA runtime: no GPU is needed, and the real libcudart is not linked.
  profkit_add_unit_tests(cuda SOURCES collect/cuda_timers.test.cpp collect/fake_cudart.cpp)
  profkit_add_unit_tests(cuda_faults SOURCES collect/cuda_faults.test.cpp collect/fake_cudart.cpp)
  foreach(test IN ITEMS cuda cuda_faults)
    target_include_directories(profkit_${test}_tests SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  endforeach()

  # Kernel collection on an imitated driver and CUPTI, which come first in the library path.
  set(fake_dir "${CMAKE_CURRENT_BINARY_DIR}/fake")
  set(broken_dir "${CMAKE_CURRENT_BINARY_DIR}/fake_broken")
  file(WRITE "${broken_dir}/libcupti.so.13" "no library\n")
  foreach(library IN ITEMS libcuda libcupti)
    add_library(profkit_fake_${library} MODULE collect/fake_${library}.cpp)
    target_include_directories(profkit_fake_${library} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    target_compile_features(profkit_fake_${library} PRIVATE cxx_std_17)
    target_link_libraries(profkit_fake_${library} PRIVATE profkit_warnings)
    set_target_properties(profkit_fake_${library} PROPERTIES PREFIX "" SUFFIX "" LIBRARY_OUTPUT_DIRECTORY "${fake_dir}")
  endforeach()
  set_target_properties(profkit_fake_libcuda PROPERTIES OUTPUT_NAME libcuda.so.1)
  set_target_properties(profkit_fake_libcupti PROPERTIES OUTPUT_NAME libcupti.so.13)
  profkit_add_test_program(NAME cupti_kernels SOURCES collect/cupti_kernels.test.cpp collect/cupti_allocations.test.cpp collect/cupti_graphs.test.cpp collect/cupti_journal.test.cpp collect/cupti_unified_memory.test.cpp collect/cupti_some_steps.test.cpp collect/fake_cudart.cpp ENVIRONMENT
                                                      LD_LIBRARY_PATH=${fake_dir})
  set_source_files_properties(collect/cupti_unified_memory.test.cpp PROPERTIES COMPILE_OPTIONS -g1) # a test finds its source lines
  profkit_add_test_program(NAME cupti_missing SOURCES collect/cupti_missing.test.cpp collect/fake_cudart.cpp ENVIRONMENT
                                                      LD_LIBRARY_PATH=${broken_dir}:${fake_dir})
  profkit_add_test_program(NAME cupti_clock_changes SOURCES collect/cupti_clock_changes.test.cpp collect/fake_cudart.cpp LIBRARIES ${CMAKE_DL_LIBS} ENVIRONMENT
                                                            LD_LIBRARY_PATH=${fake_dir})
  foreach(test IN ITEMS cupti_kernels cupti_missing) # profkit::cupti would link the real libcudart
    target_sources(profkit_${test} PRIVATE "$<TARGET_OBJECTS:profkit_cupti_code>")
  endforeach()
  target_compile_definitions(profkit_cupti_missing PRIVATE FAKE_LIBCUPTI="$<TARGET_FILE:profkit_fake_libcupti>")
  foreach(test IN ITEMS cupti_kernels cupti_clock_changes cupti_missing)
    target_include_directories(profkit_${test} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    add_dependencies(profkit_${test} profkit_fake_libcuda profkit_fake_libcupti)
  endforeach()
endif()

if(TARGET CUDA::cudart)
  # Reading clocks and utilization from an imitated NVML: a new one, an old one and none.
  file(WRITE "${broken_dir}/libnvidia-ml.so.1" "no library\n")
  set(fake_old_dir "${CMAKE_CURRENT_BINARY_DIR}/fake_old_driver")
  foreach(driver IN ITEMS fake fake_old)
    add_library(profkit_${driver}_libnvidia_ml MODULE collect/fake_libnvidia_ml.cpp)
    target_compile_features(profkit_${driver}_libnvidia_ml PRIVATE cxx_std_17)
    target_link_libraries(profkit_${driver}_libnvidia_ml PRIVATE profkit_warnings)
    set_target_properties(profkit_${driver}_libnvidia_ml PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME libnvidia-ml.so.1
                                                                    LIBRARY_OUTPUT_DIRECTORY "${${driver}_dir}")
  endforeach()
  target_compile_definitions(profkit_fake_old_libnvidia_ml PRIVATE FAKE_OLD_DRIVER)
  profkit_add_test_program(NAME gpu_clocks SOURCES collect/cuda_gpu_clocks.test.cpp collect/energy.test.cpp collect/gpu_utilization.test.cpp collect/fake_cudart.cpp ENVIRONMENT LD_LIBRARY_PATH=${fake_dir})
  target_include_directories(profkit_gpu_clocks SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  add_dependencies(profkit_gpu_clocks profkit_fake_libnvidia_ml profkit_fake_old_libnvidia_ml profkit_fake_libcuda)
  # The callers declare the types of NVML and driver functions themselves.
  foreach(library IN ITEMS fake_libnvidia_ml fake_old_libnvidia_ml fake_libcuda)
    target_compile_options(profkit_${library} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>")
  endforeach()
  add_test(NAME gpu_clocks_old_driver COMMAND profkit_gpu_clocks "[clocks],[rates]")
  add_test(NAME gpu_clocks_missing COMMAND profkit_gpu_clocks "[.missing]")
  set_tests_properties(gpu_clocks_old_driver PROPERTIES ENVIRONMENT LD_LIBRARY_PATH=${fake_old_dir}:${fake_dir})
  set_tests_properties(gpu_clocks_missing PROPERTIES ENVIRONMENT LD_LIBRARY_PATH=${broken_dir})
  set_tests_properties(gpu_clocks_old_driver gpu_clocks_missing PROPERTIES LABELS cpu TIMEOUT ${profkit_test_timeout})
endif()

if(TARGET CUDA::cudart AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  # The promises of SECURITY.md: a program with every collector, with planted libraries, and in folders where it must not write. (Sanitizers
  # open and write files themselves.)
  add_library(profkit_planted_library MODULE security/planted_library.cpp)
  target_compile_features(profkit_planted_library PRIVATE cxx_std_17)
  target_link_libraries(profkit_planted_library PRIVATE profkit_warnings ${CMAKE_DL_LIBS})
  profkit_add_test_program(NAME measured_program SOURCES security/measured_program.cpp collect/fake_cudart.cpp NO_CATCH NO_TEST)
  target_include_directories(profkit_measured_program SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_sources(profkit_measured_program PRIVATE "$<TARGET_OBJECTS:profkit_cupti_code>")
  foreach(case IN ITEMS libraries writes rights)
    add_test(NAME security.${case} COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/security/security_test.py" "$<TARGET_FILE:profkit_measured_program>"
                                           "$<TARGET_FILE:profkit_planted_library>" "${fake_dir}" ${case})
    set_tests_properties(security.${case} PROPERTIES LABELS security SKIP_RETURN_CODE 4 TIMEOUT ${profkit_test_timeout})
  endforeach()
endif()

include(${PROJECT_SOURCE_DIR}/cmake/enable_cuda.cmake)
add_subdirectory(gpu)

# The code of the documentation must compile.
profkit_add_test_program(NAME quick_start SOURCES "${PROJECT_SOURCE_DIR}/examples/quick_start/main.cpp" NO_CATCH)
if(TARGET CUDA::cudart)
  add_library(profkit_snippets OBJECT EXCLUDE_FROM_ALL docs/snippets.cpp)
  target_link_libraries(profkit_snippets PRIVATE profkit::cupti profkit::nccl profkit_warnings profkit_test_options)
  target_compile_options(profkit_snippets PRIVATE -fsyntax-only)
  add_test(NAME docs.snippets_compile COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target profkit_snippets)
  set_tests_properties(docs.snippets_compile PROPERTIES LABELS docs TIMEOUT 300 RESOURCE_LOCK build_folder)
endif()
add_subdirectory("${PROJECT_SOURCE_DIR}/examples/small" examples)

# profkit_add_example_test(<name> <label> <expected output> [<argument>...])
function(profkit_add_example_test name label output)
  if(NOT TARGET example_${name})
    return()
  endif()
  target_link_libraries(example_${name} PRIVATE profkit_warnings profkit_test_options)
  add_test(NAME example.${name} COMMAND example_${name} ${ARGN})
  set_tests_properties(example.${name} PROPERTIES LABELS ${label} TIMEOUT ${profkit_test_timeout} ENVIRONMENT PROFKIT=warmup=1,steps=3 SKIP_RETURN_CODE 77
                                                  PASS_REGULAR_EXPRESSION "${output}")
endfunction()

if(TARGET profkit_program AND NOT CMAKE_CROSSCOMPILING AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  add_subdirectory(mpi)
endif()
profkit_add_example_test(train cpu "\n  network::activate +1 ")
profkit_add_example_test(threads cpu "render \\(tile\\), other thread +4 ")
profkit_add_example_test(memory_source cpu "MEMORY   8\\.00 MiB frame arena used; no change")
profkit_add_example_test(read_profile cpu "4 measured steps\nstep +32\\.464 ms" "${CMAKE_CURRENT_SOURCE_DIR}/data/tiny-128-train-bf16.profile")
profkit_add_example_test(cuda_streams gpu "\nscale +[a-z]")
profkit_add_example_test(cuda_graph gpu "\nadd_one +[a-z]")
add_test(NAME docs.snippets COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/docs/check_snippets.py" "${PROJECT_SOURCE_DIR}")
set_tests_properties(docs.snippets PROPERTIES LABELS docs)
foreach(check IN ITEMS comments interface reference messages links line_length results_size)
  add_test(NAME docs.${check} COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/docs/check_${check}.py" "${PROJECT_SOURCE_DIR}")
  set_tests_properties(docs.${check} PROPERTIES LABELS docs)
endforeach()
if(TARGET profkit_program)
  set(profkit_program_file "$<TARGET_FILE:profkit_program>")
endif()
profkit_add_test_program(
  NAME docs.readme
  SOURCES docs/first_program.cpp
  NO_CATCH
  COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/docs/check_readme.py" "${PROJECT_SOURCE_DIR}" "$<TARGET_FILE:profkit_docs.readme>"
          ${profkit_program_file}
  LABELS docs)
add_test(NAME docs.checks_can_fail COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/docs/checks_can_fail.py" "${PROJECT_SOURCE_DIR}"
                                           "$<TARGET_FILE:profkit_docs.readme>")
set_tests_properties(docs.checks_can_fail PROPERTIES LABELS docs TIMEOUT ${profkit_test_timeout})

# The API reference. Uses doxygen on PATH or -DPROFKIT_DOXYGEN=.
find_program(PROFKIT_DOXYGEN doxygen DOC "doxygen")
add_test(NAME docs.api_reference COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/docs/check_api_reference.py" "${PROJECT_SOURCE_DIR}" "${PROFKIT_DOXYGEN}")
set_tests_properties(docs.api_reference PROPERTIES LABELS docs SKIP_RETURN_CODE 4 TIMEOUT ${profkit_test_timeout})
