// SPDX-License-Identifier: Apache-2.0
//
// An NVTX tool, loaded like Nsight Systems (NVTX_INJECTION64_PATH), that stores the received calls as text.
#include <nvtx3/nvToolsExt.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

std::mutex mutex;
std::vector<std::string> entries;
std::map<void const*, std::string> domains;
std::map<void const*, std::string> strings;
std::vector<std::string> started;  // process ranges; the number of a range is its position, from 0

/// Called in each function of the tool, before it locks.
void (*on_call)() = nullptr;

void called() {
  if (on_call != nullptr) on_call();
}

nvtxDomainHandle_t create_domain(char const* name) {
  std::lock_guard const lock{mutex};
  auto* const handle = new char;
  domains[handle] = name;
  entries.push_back("domain " + std::string{name});
  return reinterpret_cast<nvtxDomainHandle_t>(handle);
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, char const* text) {
  called();
  std::lock_guard const lock{mutex};
  auto* const handle = new char;
  strings[handle] = text;
  entries.push_back("register " + std::string{text} + " in " + domains[domain]);
  return reinterpret_cast<nvtxStringHandle_t>(handle);
}

std::string text_of(nvtxEventAttributes_t const& attributes) {
  bool const is_registered = attributes.messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  return is_registered ? strings[attributes.message.registered] : "unregistered " + std::string{attributes.message.ascii};
}

int push(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* attributes) {
  called();
  std::lock_guard const lock{mutex};
  std::string const payload =
      attributes->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 ? std::to_string(attributes->payload.ullValue) : "none";
  entries.push_back("push " + text_of(*attributes) + " in " + domains[domain] + " payload " + payload);
  return 0;
}

int pop(nvtxDomainHandle_t domain) {
  called();
  std::lock_guard const lock{mutex};
  entries.push_back("pop in " + domains[domain]);
  return 0;
}

nvtxRangeId_t start(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* attributes) {
  std::lock_guard const lock{mutex};
  started.push_back(text_of(*attributes) + " in " + domains[domain]);
  entries.push_back("start " + started.back());
  return started.size() - 1;
}

void end(nvtxDomainHandle_t domain, nvtxRangeId_t number) {
  std::lock_guard const lock{mutex};
  entries.push_back("end " + (number < started.size() ? started[number] : "of no range in " + domains[domain]));
}

template <class Function>
void set(NvtxFunctionTable table, unsigned size, unsigned index, Function* function) {
  if (index < size && table[index] != nullptr) *table[index] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  auto const* const callbacks = static_cast<NvtxExportTableCallbacks const*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  set(table, size, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  set(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  set(table, size, NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(table, size, NVTX_CBID_CORE2_DomainRangePop, pop);
  set(table, size, NVTX_CBID_CORE2_DomainRangeStartEx, start);
  set(table, size, NVTX_CBID_CORE2_DomainRangeEnd, end);
  return 1;
}

extern "C" __attribute__((visibility("default"))) void set_on_nvtx_call(void (*function)()) { on_call = function; }

/// The calls received since the last call of this function.
extern "C" __attribute__((visibility("default"))) std::vector<std::string>* take_nvtx_entries() {
  std::lock_guard const lock{mutex};
  return new std::vector<std::string>{std::exchange(entries, {})};
}
