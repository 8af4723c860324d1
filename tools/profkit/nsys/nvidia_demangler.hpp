// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <profkit/impl/profile/own_memory.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace PROFKIT_NAMESPACE::detail {

/// A C++ type as text, in two parts around the declarator, such as the `*` of a pointer.
struct demangled_type {
  enum class form { plain, pointer, function, array };

  std::string left;
  std::string right;  ///< "(int, float) const" for a function, "[3]" for an array, and the closing parts of pointers to them
  form kind = form::plain;
  bool is_tight = false;  ///< no space between `left` and the text after it
  std::string base;       ///< for a class: the name of its constructors
  std::string args;       ///< for a template: its arguments; they follow the space, as in "C <int>*"

  demangled_type() = default;
  explicit demangled_type(std::string text, std::string its_base = {}, bool tight = false)
      : left{std::move(text)}, is_tight{tight}, base{std::move(its_base)} {}

  /// The text before a declarator, with its space.
  [[nodiscard]] std::string before_declarator() const { return left + (is_tight ? "" : " ") + args; }

  [[nodiscard]] std::string text() const {
    return (kind == form::function || kind == form::array ? before_declarator() : left + args) + right;
  }
};

/// The name of a function or of a class as text, without parameters.
struct demangled_name {
  std::string text;
  std::string base;        ///< the last part without template arguments
  std::string qualifiers;  ///< such as " const &" for a member function
  std::string suffix;      ///< " [subobject]" for some constructors and destructors
  bool has_template_args = false;
  bool is_conversion = false;
  bool is_structor = false;  ///< a constructor or destructor
};

/// Demangles a name like NVIDIA's tools (`cu++filt`, Nsight Systems, Nsight Compute): "void scale<float>(T1 *, const T1 *, int)". The C++
/// runtime prints "void scale<float>(float*, float const*, int)" and loses the declared template parameters, so its text cannot be
/// converted. Names that NVIDIA's demangler cannot read, such as names with internal linkage, are not read here either.
///
/// Names can come from untrusted files, so nesting and the length of the result are bounded. A name beyond a bound is not read. Source:
/// Itanium C++ ABI, 5.1. The spelling is compared with NVIDIA's demangler (CUDA 13.0) in tests/data/kernel_names.tsv.
class nvidia_demangler {
 public:
  explicit nvidia_demangler(std::string_view mangled) : rest_{mangled} {}

  /// @return nothing if the name is not mangled or not supported. To be called once.
  [[nodiscard]] std::optional<std::string> operator()() {
    if (accept("__nv_static_")) {  // "32_", 32 characters for the file, "_" and the name
      std::size_t const file = number();
      expect("_");
      skip(file);
      expect("_");
    }
    expect("_Z");
    std::string result = encoding(false);
    if (failed_ || !rest_.empty()) return std::nullopt;
    return result;
  }

 private:
  static constexpr std::size_t max_depth = 100;                           // of recursion; takes about 0.2 MiB of stack without optimization
  static constexpr std::size_t max_copied_bytes = std::size_t{16} << 20;  // to and from `substitutions_`

  /// Counts the levels of recursion.
  class nesting {
   public:
    explicit nesting(nvidia_demangler& demangler) : demangler_{demangler} {
      if (++demangler_.depth_ > max_depth) demangler_.fail();
    }
    ~nesting() { --demangler_.depth_; }
    nesting(nesting const&) = delete;
    nesting& operator=(nesting const&) = delete;

   private:
    nvidia_demangler& demangler_;
  };

  struct cv_qualifiers {
    bool is_const = false;
    bool is_volatile = false;
    bool is_restrict = false;
  };

  // Reading stops at the end of the text, so moving to the end aborts all callers.
  void fail() {
    failed_ = true;
    rest_ = {};
  }
  [[nodiscard]] char peek(std::size_t ahead = 0) const { return ahead < rest_.size() ? rest_[ahead] : '\0'; }
  [[nodiscard]] bool is_digit_next() const { return peek() >= '0' && peek() <= '9'; }
  void skip(std::size_t count) { rest_.remove_prefix(count < rest_.size() ? count : rest_.size()); }
  bool accept(std::string_view text) {
    bool const is_next = rest_.substr(0, text.size()) == text;
    if (is_next) skip(text.size());
    return is_next;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fail();
  }

  // nvidia_demangler_names.hpp
  std::size_t number();
  std::size_t sequence_number(std::size_t base);
  std::size_t discriminator();
  std::string encoding(bool is_literal);
  std::string parameters();
  demangled_name name();
  demangled_name nested_name();
  demangled_name local_name();
  void add_component(demangled_name& to);
  std::string source_name();
  std::string operator_name(demangled_name& entity);
  std::string structor_name(demangled_name& entity);
  std::string abi_tags();
  std::string template_args();
  std::string template_arg();

  // nvidia_demangler_types.hpp
  demangled_type type();
  demangled_type qualified_type();
  demangled_type function_type(cv_qualifiers const& qualifiers);
  demangled_type array_type();
  demangled_type member_pointer();
  demangled_type pointer_to(demangled_type target, std::string_view declarator);
  demangled_type decltype_type();
  demangled_type named_type();
  demangled_type template_param_type();
  demangled_type substituted_type();
  demangled_type substitution();
  cv_qualifiers qualifiers();
  static std::string text_of(cv_qualifiers const& qualifiers);
  std::string template_param();
  void remember(demangled_type const& substitutable);
  void count_copy(demangled_type const& type);

  // nvidia_demangler_expressions.hpp
  std::string expression();
  std::string operator_expression();
  std::string member_expression(std::string_view access);
  std::string call_expression();
  std::string cast_expression();
  std::string scope_expression();
  std::string unresolved_name();
  std::string function_param();
  std::string literal();
  std::string expressions_to_end();

  std::string_view rest_;
  own_vector<demangled_type> substitutions_;
  std::size_t depth_ = 0;
  std::size_t copied_bytes_ = 0;
  bool failed_ = false;
  bool is_in_conversion_ = false;  ///< inside the type of a conversion function, whose template arguments follow it
};

}  // namespace PROFKIT_NAMESPACE::detail
