# protozero::protozero, if there is protozero: header-only, and most packages of it have no CMake files. The target is seen everywhere: who
# adds this project as a folder links it, too.
if(NOT TARGET protozero::protozero)
  find_path(PROFKIT_PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp DOC "Folder of protozero's headers")
  mark_as_advanced(PROFKIT_PROTOZERO_INCLUDE_DIR)
  if(PROFKIT_PROTOZERO_INCLUDE_DIR)
    add_library(protozero::protozero INTERFACE IMPORTED GLOBAL)
    target_include_directories(protozero::protozero SYSTEM INTERFACE "${PROFKIT_PROTOZERO_INCLUDE_DIR}")
  endif()
endif()
