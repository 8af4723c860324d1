// SPDX-License-Identifier: Apache-2.0
//
// The headers that users include, after the macros of Qt, Windows, X11, glog and Arduino.
#include "foreign_headers.hpp"  // before the macros, which only profkit's own headers must withstand

// clang-format off
// Qt without QT_NO_KEYWORDS
#define signals public
#define slots
#define emit
#define foreach(a, b) for (a : b)
#define forever for (;;)
#define Q_OBJECT
// windows.h without NOMINMAX
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define near
#define far
#define interface struct
#define small char
#define IN
#define OUT
#define OPTIONAL
#define VOID void
#define TRUE 1
#define FALSE 0
#define CONST const
#undef ERROR
#define ERROR 0
#define NO_ERROR 0
#define DELETE 0x10000
#define STRICT 1
#define GetObject GetObjectA
#define SendMessage SendMessageA
#define CreateWindow CreateWindowA
// X11
#define None 0L
#define Bool int
#define Status int
#define True 1
#define False 0
#define Always 2
#define Success 0
#define Above 0
#define Below 1
#define Complex 0
#define Convex 2
#define CursorShape 0
#define Expose 12
#define FocusIn 9
#define FocusOut 10
#define KeyPress 2
#define KeyRelease 3
#define Button1 1
#define Unsorted 0
#define DestroyAll 0
#define GrayScale 1
// glog
#define LOG(x) poison
#define CHECK(x) poison
#define CHECK_EQ(a, b) poison
#define DLOG(x) poison
#define VLOG(x) poison
#define INFO 0
#define WARNING 1
#define FATAL 3
// Arduino
#define F(x) poison
#define HIGH 1
#define LOW 0
#define INPUT 0
#define OUTPUT 1
#define PI 3.14
#define EULER 2.7
#define SERIAL 0
#define DISPLAY 1
#define LSBFIRST 0
#define CHANGE 1
#define FALLING 2
#define RISING 3
#define DEFAULT 1
#define EXTERNAL 0
#define INTERNAL 3
#define abs(x) ((x) > 0 ? (x) : -(x))
#define round(x) ((x) >= 0 ? (long)((x) + 0.5) : (long)((x)-0.5))
#define constrain(a, b, c) (a)
#define radians(d) (d)
#define degrees(d) (d)
#define sq(x) ((x) * (x))
#define interrupts() poison
#define noInterrupts() poison
#define lowByte(w) (w)
#define highByte(w) (w)
#define bitRead(a, b) (a)
#define bitSet(a, b) (a)
#define bit(b) (1UL << (b))
#define word(...) poison
#define _BV(b) (b)
#define B1 1
#define A0 1
// clang-format on

#include <profkit/nccl.hpp>
#include <profkit/profkit.hpp>
#if __has_include(<cuda_runtime_api.h>)
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#endif

void paint(int layer);

void paint(int layer) {
  PROF_SCOPE("paint");
  PROF_SCOPE_INDEXED("layer", layer);
  PROF_FUNCTION();
  PROF_COUNTER("layers", layer);
}
