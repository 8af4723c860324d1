// SPDX-License-Identifier: Apache-2.0
// The same code as without_scopes.cpp, with every macro of scope.hpp.

#include <profkit/scope.hpp>

int work(int) noexcept;

int straight(int x) {
  PROF_FUNCTION();
  return x * 3 + 1;
}

int calls(int x) {
  PROF_SCOPE("calls");
  int const y = work(x);
  {
    PROF_SCOPE("inner");
    return work(y) + 1;
  }
}

int loop(int const* values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    PROF_SCOPE_INDEXED("value", i);
    sum += work(values[i]);
    PROF_COUNTER("sum", sum);
  }
  return sum;
}

template <class T>
T twice(T x) {
  PROF_FUNCTION();
  return x + x;
}

double instantiated(double x) { return twice(x); }

int adopts(profkit::scope_token const& token, int x) {
  PROF_ADOPT_SCOPE("adopts", token);
  return work(x);
}

double with_work(double x) {
  PROF_SCOPE("work", profkit::work{2.0 * x, 3.0, profkit::precision::bf16});
  return x * work(1);
}

int lambda(int x) {
  auto const add = [x](int y) {
    PROF_SCOPE("lambda");
    return x + work(y);
  };
  return add(1) + add(2);
}
