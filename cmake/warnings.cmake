# profkit_warnings: what this project's own tests, examples and benchmarks are compiled with. It is not installed, and the library does
# not link it: users keep their own flags.

option(PROFKIT_WARNINGS_AS_ERRORS "Make warnings in profkit's tests, examples and benchmarks errors" OFF)

add_library(profkit_warnings INTERFACE)
target_compile_options(
  profkit_warnings
  INTERFACE
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wall;-Wextra;-Wconversion;-Wshadow>"
    "$<$<AND:$<BOOL:${PROFKIT_WARNINGS_AS_ERRORS}>,$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>>:-Werror>"
)
