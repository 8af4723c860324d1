# Copies the headers of profkit to another folder as another version, in which two classes have other members.
#   SOURCE  folder with profkit/
#   TARGET  new folder

file(REMOVE_RECURSE "${TARGET}")
file(COPY "${SOURCE}/profkit" DESTINATION "${TARGET}")

function(change header regex replacement)
  file(READ "${TARGET}/profkit/${header}" text)
  string(REGEX REPLACE "${regex}" "${replacement}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "profkit/${header} has nothing that matches ${regex}")
  endif()
  file(WRITE "${TARGET}/profkit/${header}" "${changed}")
endfunction()

change(version.hpp "(PROFKIT_VERSION_PATCH )[0-9]+" "\\1999")
change(version.hpp "(version = \"[0-9]+[.][0-9]+[.])[0-9]+" "\\1999")
foreach(class IN ITEMS impl/session/session_impl.hpp:session_impl profile_builder.hpp:profile_builder)
  string(REPLACE ":" ";" class "${class}")
  list(GET class 0 header)
  list(GET class 1 name)
  change(${header} "\nclass (${name} [^{;]*){\n" "\nclass \\1{\n  unsigned char only_in_this_version_[4096] = {};\n\n")
endforeach()
