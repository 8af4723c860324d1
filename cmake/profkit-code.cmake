# profkit::profkit: profkit::headers and the code of sessions and reports, compiled once into a static library when a target first links it.
if(TARGET profkit::profkit)
  return()
endif()

# Imported, so that a project can install and export a library that links it. Global, because the static library is global.
add_library(profkit::profkit INTERFACE IMPORTED GLOBAL)
set_target_properties(profkit::profkit PROPERTIES IMPORTED_NO_SYSTEM ON)

get_property(profkit_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("CXX" IN_LIST profkit_languages)
  set(profkit_sources "")
  foreach(part IN ITEMS analysis report session)
    list(APPEND profkit_sources "${CMAKE_CURRENT_LIST_DIR}/profkit-code-${part}.cpp")
  endforeach()
  add_library(profkit_code STATIC EXCLUDE_FROM_ALL ${profkit_sources})
  target_link_libraries(profkit_code PUBLIC profkit::headers)
  # It can be linked into shared libraries. One unit of all parts would take 3 GB of memory, and twice the time.
  set_target_properties(profkit_code PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
  target_link_libraries(profkit::profkit INTERFACE profkit_code)
  if(TARGET CUDA::cudart AND TARGET CUDA::cupti)
    # The same for the code of profkit::cupti, which links this library.
    add_library(profkit_cupti_code STATIC EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/profkit-cupti-code.cpp")
    target_link_libraries(profkit_cupti_code PUBLIC profkit_code CUDA::cudart)
    target_include_directories(profkit_cupti_code SYSTEM PRIVATE "$<TARGET_PROPERTY:CUDA::cupti,INTERFACE_INCLUDE_DIRECTORIES>")
    set_target_properties(profkit_cupti_code PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
else()
  message(STATUS "profkit: the language CXX is not enabled, so one file of each program includes <profkit/code.hpp>")
  target_link_libraries(profkit::profkit INTERFACE profkit::headers)
endif()
