// SPDX-License-Identifier: Apache-2.0
//
// What a program that `profkit run` started calls: NVTX, Kokkos, and the dynamic linker. `run_cuda.cpp` has what the CUDA driver calls.

#include <sys/auxv.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cwchar>
#include <string_view>
#include <type_traits>

#include "ranges.hpp"
#include "run_session.hpp"

#define PROFKIT_RUN_EXPORT extern "C" __attribute__((visibility("default")))

namespace profkit_run {
namespace {

/// In a program with more rights than its user nothing is recorded: the environment is not to be trusted.
bool is_allowed() noexcept {
  static bool const is_ordinary = ::getauxval(AT_SECURE) == 0;
  return is_ordinary;
}

__attribute__((constructor)) void on_load() noexcept {
  if (is_allowed()) run_session::only().loaded();
}

}  // namespace
}  // namespace profkit_run

// Source: Kokkos Tools, "Hooks" (kp_core.hpp). A tool need not have all functions.

namespace profkit_run {
namespace {

constexpr char kokkos = 0;  ///< its address is the key of Kokkos' ranges
constexpr char const* kokkos_place = "Kokkos";

void begin_kokkos(char const* name, std::uint64_t* number = nullptr) noexcept {
  if (number != nullptr) *number = 0;
  if (is_allowed()) push_range(&kokkos, {name == nullptr ? "" : name, nullptr, kokkos_place}, nullptr);
}

void end_kokkos() noexcept {
  if (is_allowed()) pop_range(&kokkos);
}

struct kokkos_space {
  char name[64];
};

}  // namespace
}  // namespace profkit_run

PROFKIT_RUN_EXPORT void kokkosp_init_library(int, std::uint64_t, std::uint32_t, void*) {}
PROFKIT_RUN_EXPORT void kokkosp_finalize_library() {}
PROFKIT_RUN_EXPORT void kokkosp_begin_parallel_for(char const* name, std::uint32_t, std::uint64_t* number) {
  profkit_run::begin_kokkos(name, number);
}
PROFKIT_RUN_EXPORT void kokkosp_end_parallel_for(std::uint64_t) { profkit_run::end_kokkos(); }
PROFKIT_RUN_EXPORT void kokkosp_begin_parallel_reduce(char const* name, std::uint32_t, std::uint64_t* number) {
  profkit_run::begin_kokkos(name, number);
}
PROFKIT_RUN_EXPORT void kokkosp_end_parallel_reduce(std::uint64_t) { profkit_run::end_kokkos(); }
PROFKIT_RUN_EXPORT void kokkosp_begin_parallel_scan(char const* name, std::uint32_t, std::uint64_t* number) {
  profkit_run::begin_kokkos(name, number);
}
PROFKIT_RUN_EXPORT void kokkosp_end_parallel_scan(std::uint64_t) { profkit_run::end_kokkos(); }
PROFKIT_RUN_EXPORT void kokkosp_begin_fence(char const* name, std::uint32_t, std::uint64_t* number) {
  profkit_run::begin_kokkos(name, number);
}
PROFKIT_RUN_EXPORT void kokkosp_end_fence(std::uint64_t) { profkit_run::end_kokkos(); }
PROFKIT_RUN_EXPORT void kokkosp_push_profile_region(char const* name) { profkit_run::begin_kokkos(name); }
PROFKIT_RUN_EXPORT void kokkosp_pop_profile_region() { profkit_run::end_kokkos(); }
PROFKIT_RUN_EXPORT void kokkosp_begin_deep_copy(profkit_run::kokkos_space, char const*, void const*, profkit_run::kokkos_space, char const*,
                                                void const*, std::uint64_t) {
  profkit_run::begin_kokkos("deep_copy");
}
PROFKIT_RUN_EXPORT void kokkosp_end_deep_copy() { profkit_run::end_kokkos(); }

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

// Source: `nvtxDetail/nvtxTypes.h`: a tool gets a table of the addresses of function pointers from each module that uses NVTX.

namespace profkit_run {
namespace {

struct nvtx_domain {
  char const* place;
  bool has_payload;  ///< the payload of profkit's own domain is the number of the step
};

nvtx_domain const default_domain{"NVTX", true};

nvtx_domain const& domain_of(nvtxDomainHandle_t handle) noexcept {
  return handle == nullptr ? default_domain : *reinterpret_cast<nvtx_domain const*>(handle);
}

/// A wide string as UTF-8, cut to the buffer.
class narrow_text {
 public:
  explicit narrow_text(wchar_t const* wide) noexcept {
    std::size_t used = 0;
    for (; wide != nullptr && *wide != L'\0' && used + 4 < text_.size(); ++wide) {
      std::uint32_t const code = static_cast<std::make_unsigned_t<wchar_t>>(*wide);
      unsigned const more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
      constexpr std::array<std::uint32_t, 4> first{0, 0xc0, 0xe0, 0xf0};
      text_[used++] = static_cast<char>(first[more] | (code >> (6 * more) & (more == 0 ? 0x7fU : 0x3fU >> more)));
      for (unsigned i = more; i-- > 0;) text_[used++] = static_cast<char>(0x80U | (code >> (6 * i) & 0x3fU));
    }
  }
  [[nodiscard]] char const* text() const noexcept { return text_.data(); }

 private:
  std::array<char, 512> text_{};
};

/// Without the numbers that PyTorch's `emit_nvtx` appends, with which each call of an operator would have a name of its own: "aten::add,
/// seq = 12, op_id = 30". Source: PyTorch, `torch/csrc/profiler/util.cpp`, `getNvtxStr`.
std::string_view without_numbers(char const* text) noexcept {
  std::string_view const whole = text == nullptr ? "" : text;
  for (std::size_t at = whole.find(", "); at != std::string_view::npos; at = whole.find(", ", at + 1)) {
    for (std::string_view const number : {"seq = ", "op_id = ", "sizes = "}) {
      if (whole.substr(at + 2, number.size()) == number) return whole.substr(0, at);
    }
  }
  return whole;
}

/// Calls a function with the name and the index of a range.
template <class Call>
auto with_name(nvtx_domain const& domain, nvtxEventAttributes_t const* attributes, Call&& call) noexcept {
  range_name name{"", nullptr, domain.place};
  if (attributes == nullptr) return call(name, nullptr);
  std::int64_t index = 0;
  bool has_index = domain.has_payload;
  switch (attributes->payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
    case NVTX_PAYLOAD_TYPE_INT64:
      index = attributes->payload.llValue;
      break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
      index = attributes->payload.uiValue;
      break;
    case NVTX_PAYLOAD_TYPE_INT32:
      index = attributes->payload.iValue;
      break;
    default:
      has_index = false;
  }
  std::int64_t const* const shown = has_index ? &index : nullptr;
  if (attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED && attributes->message.registered != nullptr) {
    name.registered = reinterpret_cast<profkit::site*>(attributes->message.registered);
    name.text = name.registered->name;
  } else if (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII && attributes->message.ascii != nullptr) {
    name.text = without_numbers(attributes->message.ascii);
  } else if (attributes->messageType == NVTX_MESSAGE_TYPE_UNICODE) {
    narrow_text const narrow{attributes->message.unicode};
    name.text = narrow.text();
    return call(name, shown);
  }
  return call(name, shown);
}

int push(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* attributes) noexcept {
  return with_name(domain_of(domain), attributes,
                   [&](range_name const& name, std::int64_t const* index) { return push_range(domain, name, index); });
}

nvtxRangeId_t start(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* attributes) noexcept {
  return with_name(domain_of(domain), attributes,
                   [](range_name const& name, std::int64_t const* index) { return process_ranges::only().start(name, index); });
}

range_name plain(char const* text) noexcept { return {without_numbers(text), nullptr, default_domain.place}; }

nvtxDomainHandle_t create_domain(char const* name) noexcept {
  profkit::site const& kept = profkit::detail::sites_by_name.find(name, __builtin_strlen(name), "an NVTX domain");
  auto* const made = new (std::nothrow) nvtx_domain{kept.name, std::string_view{name} != "profkit"};
  return reinterpret_cast<nvtxDomainHandle_t>(made);
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, char const* text) noexcept {
  return reinterpret_cast<nvtxStringHandle_t>(&range_name{without_numbers(text), nullptr, domain_of(domain).place}.site());
}

/// The functions of one module of NVTX's callbacks.
class nvtx_table {
 public:
  nvtx_table(NvtxExportTableCallbacks const& callbacks, NvtxCallbackModule module) noexcept {
    if (callbacks.GetModuleFunctionTable(module, &functions_, &size_) != 1) size_ = 0;
  }

  template <class Function>
  void set(unsigned number, Function* function) const noexcept {
    if (number < size_ && functions_[number] != nullptr) *functions_[number] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable functions_ = nullptr;
  unsigned size_ = 0;
};

}  // namespace
}  // namespace profkit_run

/// Called by NVTX at the first call of each module that uses it. @return 1 if its ranges are wanted.
PROFKIT_RUN_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  using namespace profkit_run;
  if (!is_allowed() || run_session::only().is_refused()) return 0;
  auto const* const callbacks = static_cast<NvtxExportTableCallbacks const*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return 0;
  nvtx_table const core{*callbacks, NVTX_CB_MODULE_CORE};
  core.set(
      NVTX_CBID_CORE_RangePushA, +[](char const* text) { return push_range(nullptr, plain(text), nullptr); });
  core.set(
      NVTX_CBID_CORE_RangePushW, +[](wchar_t const* text) { return push_range(nullptr, plain(narrow_text{text}.text()), nullptr); });
  core.set(
      NVTX_CBID_CORE_RangePushEx, +[](nvtxEventAttributes_t const* attributes) { return push(nullptr, attributes); });
  core.set(
      NVTX_CBID_CORE_RangePop, +[] { return pop_range(nullptr); });
  core.set(
      NVTX_CBID_CORE_RangeStartA, +[](char const* text) { return process_ranges::only().start(plain(text), nullptr); });
  core.set(
      NVTX_CBID_CORE_RangeStartW,
      +[](wchar_t const* text) { return process_ranges::only().start(plain(narrow_text{text}.text()), nullptr); });
  core.set(
      NVTX_CBID_CORE_RangeStartEx, +[](nvtxEventAttributes_t const* attributes) { return start(nullptr, attributes); });
  core.set(
      NVTX_CBID_CORE_RangeEnd, +[](nvtxRangeId_t number) { process_ranges::only().end(number); });
  nvtx_table const domains{*callbacks, NVTX_CB_MODULE_CORE2};
  domains.set(NVTX_CBID_CORE2_DomainRangePushEx, &push);
  domains.set(
      NVTX_CBID_CORE2_DomainRangePop, +[](nvtxDomainHandle_t domain) { return pop_range(domain); });
  domains.set(NVTX_CBID_CORE2_DomainRangeStartEx, &start);
  domains.set(
      NVTX_CBID_CORE2_DomainRangeEnd, +[](nvtxDomainHandle_t, nvtxRangeId_t number) { process_ranges::only().end(number); });
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringA, &register_string);
  domains.set(
      NVTX_CBID_CORE2_DomainRegisterStringW,
      +[](nvtxDomainHandle_t domain, wchar_t const* text) { return register_string(domain, narrow_text{text}.text()); });
  domains.set(
      NVTX_CBID_CORE2_DomainCreateA, +[](char const* name) { return create_domain(name == nullptr ? "" : name); });
  domains.set(
      NVTX_CBID_CORE2_DomainCreateW, +[](wchar_t const* name) { return create_domain(narrow_text{name}.text()); });
  return 1;
}
#endif
