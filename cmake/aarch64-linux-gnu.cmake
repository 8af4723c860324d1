# For Debian's cross compiler; qemu runs the programs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
# Suppresses a note of g++ about an old change of the calling convention on aarch64.
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)
