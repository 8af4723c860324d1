// SPDX-License-Identifier: Apache-2.0
//
// Includes all headers, with WITH_CODE also all code of sessions and reports, after macros of other libraries. Headers that
// a program may include before profkit's define macros with short names: I (complex.h), B0 (termios.h), major, minor and makedev
// (sys/sysmacros.h), MIN and MAX (sys/param.h), DOMAIN and OVERFLOW (math.h), None, Bool, Status and others (X11), CHECK, DEBUG and ERROR
// (logging libraries), small (windows.h), linux and unix (the compiler). profkit's headers must not use these names.

#include "foreign_headers.hpp"  // before the macros, which only profkit's own headers must withstand

#undef linux
#undef unix
#undef MIN
#undef MAX

#define Always 42
#define B0 42
#define Bool 42
#define CHECK(x) poison(x)
#define DEBUG 42
#define DOMAIN 42
#define ERROR 42
#define False 42
#define I 42
#define MAX(a, b) poison(a, b)
#define MIN(a, b) poison(a, b)
#define None 42
#define OVERFLOW 42
#define Status 42
#define Success 42
#define TRACE 42
#define True 42
#define linux 42
#define major 42
#define makedev 42
#define minor 42
#define small 42
#define unix 42

#include "all_headers.hpp"

#ifdef WITH_CODE
#include <profkit/code.hpp>
#if __has_include(<cupti.h>)
#include <profkit/cupti_code.hpp>
#endif
#endif
