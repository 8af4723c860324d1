// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "../../error.hpp"
#include "../profile/own_memory.hpp"
#include "opened_libraries.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// libcupti, opened at run time, so that programs start on machines without CUPTI. profkit reads only record fields that exist since CUDA
/// 12.0, independently of the version of the headers and of the library.
class cupti_library {
  void* library_ = open();  ///< never closed, because it has its own threads

 public:
  static constexpr std::uint32_t oldest_version = 19;  ///< the version in CUDA 12.0. Source: cupti_version.h

  /// Opens the first of these: the copy that the process has loaded, the system's copy, the file `PROFKIT_CUPTI_PATH`. Never opens a file
  /// in the current directory.
  /// @throws profkit::error if there is none, or it is too old.
  cupti_library() = default;

  // The functions, named as in CUPTI's headers.
  decltype(&::cuptiGetVersion) get_version = needed("cuptiGetVersion");
  decltype(&::cuptiGetResultString) get_result_string = needed("cuptiGetResultString");
  decltype(&::cuptiSubscribe) subscribe = needed("cuptiSubscribe");
#if CUPTI_API_VERSION >= 130000
  decltype(&::cuptiSubscribe_v2) subscribe_v2 = library_function{library_, "cuptiSubscribe_v2"};  ///< null in a library before CUDA 13.0
#endif
  decltype(&::cuptiUnsubscribe) unsubscribe = needed("cuptiUnsubscribe");
  decltype(&::cuptiGetCallbackName) get_callback_name = needed("cuptiGetCallbackName");
  std::uint32_t version = checked_version();
  decltype(&::cuptiSetThreadIdType) set_thread_id_type = needed("cuptiSetThreadIdType");
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks = needed("cuptiActivityRegisterCallbacks");
  decltype(&::cuptiActivitySetAttribute) set_attribute = needed("cuptiActivitySetAttribute");
  decltype(&::cuptiActivityEnable) enable = needed("cuptiActivityEnable");
  decltype(&::cuptiActivityDisable) disable = needed("cuptiActivityDisable");
  decltype(&::cuptiEnableCallback) enable_callback = needed("cuptiEnableCallback");
  decltype(&::cuptiGetGraphNodeId) get_graph_node_id = needed("cuptiGetGraphNodeId");
  decltype(&::cuptiActivityFlushAll) flush_all = needed("cuptiActivityFlushAll");
  decltype(&::cuptiActivityGetNextRecord) get_next_record = needed("cuptiActivityGetNextRecord");
  decltype(&::cuptiActivityConfigureUnifiedMemoryCounter) configure_unified_memory = needed("cuptiActivityConfigureUnifiedMemoryCounter");
  decltype(&::cuptiActivityGetNumDroppedRecords) get_dropped_records = needed("cuptiActivityGetNumDroppedRecords");

  /// @throws profkit::error with CUPTI's name of the status and the call, unless it succeeded.
  void check(CUptiResult status, char const* call) const {
    if (status == CUPTI_SUCCESS) return;
    char const* name = nullptr;
    if (get_result_string(status, &name) != CUPTI_SUCCESS || name == nullptr) name = "unknown error";
    std::string const hint =
        status == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "; an administrator can allow it: NVreg_RestrictProfilingToAdminUsers=0" : "";
    throw error{std::string{call} + ": " + name + hint, static_cast<int>(status)};
  }

 private:
#if CUPTI_API_VERSION >= 130000
  static constexpr char const* system_name = "libcupti.so.13";
#else
  static constexpr char const* system_name = "libcupti.so.12";
#endif

  static void* open() {
    void* library = ::dlopen(system_name, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) library = open_system_copy();
    char const* const path = ::secure_getenv("PROFKIT_CUPTI_PATH");
    if (library != nullptr) return library;
    if (path == nullptr || *path == '\0') {
      throw error{std::string{system_name} + " cannot be opened, and PROFKIT_CUPTI_PATH does not say where it is"};
    }
    if (*path != '/') throw error{std::string{"PROFKIT_CUPTI_PATH must be an absolute path of a file, it is \""} + path + "\""};
    library = open_file(path);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc and musl keep an error for each thread
    if (library == nullptr) throw error{std::string{system_name} + " cannot be opened, nor can PROFKIT_CUPTI_PATH: " + ::dlerror()};
    return library;
  }

  /// If LD_LIBRARY_PATH contains an empty or relative folder, the system would search the current directory, where anyone may have written
  /// files. Then only the absolute folders are searched. Source: ld.so(8).
  static void* open_system_copy() {
    char const* const text = ::secure_getenv("LD_LIBRARY_PATH");
    std::string_view rest = text == nullptr ? "" : text;
    own_vector<std::string> absolute;
    bool has_relative = false;
    while (!rest.empty()) {
      std::size_t const end = rest.find_first_of(":;");
      std::string_view const folder = rest.substr(0, end);
      bool const is_absolute = !folder.empty() && folder.front() == '/';
      if (is_absolute) absolute.emplace_back(folder);
      has_relative = has_relative || !is_absolute || end + 1 == rest.size();
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    if (!has_relative) return ::dlopen(system_name, RTLD_NOW | RTLD_LOCAL);
    for (std::string const& folder : absolute) {
      void* const library = open_file(folder + "/" + system_name);
      if (library != nullptr) return library;
    }
    return nullptr;
  }

  static void* open_file(std::string const& path) { return path.front() == '/' ? ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr; }

  [[nodiscard]] library_function needed(char const* name) const {
    library_function const found{library_, name};
    if (!found) throw error{std::string{"libcupti is too old: it has no "} + name};
    return found;
  }

  /// @throws profkit::error if the library is too old, before its newer functions are missed.
  [[nodiscard]] std::uint32_t checked_version() const {
    std::uint32_t found = 0;
    check(get_version(&found), "cuptiGetVersion");
    if (found >= oldest_version) return found;
    throw error{"libcupti is too old: its version is " + std::to_string(found) + ", at least " + std::to_string(oldest_version) +
                " (CUDA 12.0) is needed"};
  }
};

}  // namespace PROFKIT_NAMESPACE::detail
