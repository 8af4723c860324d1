# profkit::code, a static library with the code of sessions and reports, compiled once in the build of whoever links it, with the flags of
# that. Who links it has PROFKIT_CODE_ELSEWHERE, and the units that include profkit.hpp or session.hpp compile several times as fast.
if(NOT TARGET profkit::code)
  add_library(profkit_code STATIC EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/profkit-code.cpp")
  add_library(profkit::code ALIAS profkit_code)
  target_link_libraries(profkit_code PUBLIC profkit::profkit)
  target_compile_definitions(profkit_code INTERFACE PROFKIT_CODE_ELSEWHERE)
  set_target_properties(profkit_code PROPERTIES POSITION_INDEPENDENT_CODE ON) # for shared libraries, too
endif()
