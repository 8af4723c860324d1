# Defines protozero::protozero if the headers are found; most packages of protozero have no CMake files. The target is global, so that
# projects which add profkit as a subdirectory can link it.
if(NOT TARGET protozero::protozero)
  find_path(PROFKIT_PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp DOC "Folder of protozero's headers")
  mark_as_advanced(PROFKIT_PROTOZERO_INCLUDE_DIR)
  if(PROFKIT_PROTOZERO_INCLUDE_DIR)
    add_library(protozero::protozero INTERFACE IMPORTED GLOBAL)
    target_include_directories(protozero::protozero SYSTEM INTERFACE "${PROFKIT_PROTOZERO_INCLUDE_DIR}")
  endif()
endif()
