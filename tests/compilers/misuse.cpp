// SPDX-License-Identifier: Apache-2.0
//
// Code that must not compile, one MISUSE each. Without MISUSE it compiles, so that only the misuse can be the error.
#include <profkit/impl/profile/flat_records.hpp>
#include <profkit/scope.hpp>

struct described_values {
  int first = 0;
  int second = 0;
#if defined(MEMBER_NOT_DESCRIBED)
  int third = 0;
#endif
};

namespace PROFKIT_NAMESPACE::detail {
constexpr auto describe(described_type<described_values>) {
#if defined(MEMBER_DESCRIBED_TWICE)
  return field_list{field{"first", &described_values::first}, field{"second", &described_values::first}};
#else
  return field_list{field{"first", &described_values::first}, field{"second", &described_values::second}};
#endif
}
}  // namespace PROFKIT_NAMESPACE::detail

struct ignoring_archive {
  void operator()(int) const {}
};

void misuse();

void misuse() {
  described_values values;
  ignoring_archive archive;
  profkit::detail::fields(archive, values);
  static profkit::site site{"misuse", __FILE__, __LINE__};
  profkit::scope scope{site};
#if defined(COPY)
  profkit::scope copy{scope};
#elif defined(MOVE)
  profkit::scope moved{static_cast<profkit::scope&&>(scope)};
#elif defined(ASSIGN)
  profkit::scope other{site};
  other = scope;
#elif defined(HEAP)
  new profkit::scope{site};
#elif defined(HEAP_ARRAY)
  new profkit::scope[1]{profkit::scope{site}};
#elif defined(TEMPORARY)
  profkit::scope{site};
#elif defined(TEMPORARY_INDEXED)
  profkit::scope(site, 3);
#elif defined(TEMPORARY_WORK)
  profkit::scope(site, profkit::work{1.0, 2.0});
#elif defined(TEMPORARY_ADOPTING)
  profkit::adopting_scope(site, profkit::scope_token::current());
#elif defined(NAME_NOT_A_LITERAL)
  char const* const name = "name";
  PROF_SCOPE(name);
#endif
}
