# profkit_add_headers_alone(<target> <include folder> <header>...)
#
# An object library whose sources compile each header as if alone. It checks the syntax and generates no code. A test builds it, so that a
# failure is a failed test and not a failed build.
set(profkit_header_chains "${CMAKE_CURRENT_LIST_DIR}/header_chains.py")
function(profkit_add_headers_alone target include_dir)
  execute_process(
    COMMAND
      "${Python3_EXECUTABLE}" "${profkit_header_chains}" "${include_dir}" "${CMAKE_CURRENT_BINARY_DIR}/${target}" ${ARGN}
    OUTPUT_VARIABLE sources
    COMMAND_ERROR_IS_FATAL ANY
  )
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(${target} PRIVATE profkit::headers)
  target_compile_options(${target} PRIVATE -fsyntax-only)
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
endfunction()
