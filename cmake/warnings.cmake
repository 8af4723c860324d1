# profkit_warnings: the warnings of this project's tests, examples and benchmarks. Not installed and not linked by the library, so users
# keep their own flags.

option(PROFKIT_WARNINGS_AS_ERRORS "Make warnings in profkit's tests, examples and benchmarks errors" OFF)

add_library(profkit_warnings INTERFACE)
# Since version 19, clang++ warns about calls inside std::stable_sort of libstdc++ 12, in every program that sorts.
target_compile_options(
  profkit_warnings
  INTERFACE
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wall;-Wextra;-Wconversion;-Wshadow>"
    "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,19>>:-Wno-deprecated-declarations>"
    "$<$<AND:$<BOOL:${PROFKIT_WARNINGS_AS_ERRORS}>,$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>>:-Werror>"
)
