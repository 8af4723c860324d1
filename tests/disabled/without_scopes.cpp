// SPDX-License-Identifier: Apache-2.0
// The same code as with_scopes.cpp, without profkit except for the name of a type.
#include <profkit/version.hpp>

namespace PROFKIT_NAMESPACE {
class scope_token;
}

int work(int) noexcept;

int straight(int x) { return x * 3 + 1; }

int calls(int x) {
  int const y = work(x);
  { return work(y) + 1; }
}

int loop(int const* values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += work(values[i]);
  }
  return sum;
}

template <class T>
T twice(T x) {
  return x + x;
}

double instantiated(double x) { return twice(x); }

int adopts(profkit::scope_token const&, int x) { return work(x); }

double with_work(double x) { return x * work(1); }

int lambda(int x) {
  auto const add = [x](int y) { return x + work(y); };
  return add(1) + add(2);
}
