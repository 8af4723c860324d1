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

namespace profkit::detail {

/// libcupti, opened at run time, so that programs start on machines without CUPTI. profkit reads only record fields that exist since CUDA
/// 12.0, independently of the version of the headers and of the library.
class cupti_library {
 public:
  static constexpr std::uint32_t oldest_version = 19;  ///< the version in CUDA 12.0. Source: cupti_version.h

  // The functions, named as in CUPTI's headers.
  decltype(&::cuptiGetVersion) get_version = nullptr;
  decltype(&::cuptiGetResultString) get_result_string = nullptr;
  decltype(&::cuptiSubscribe) subscribe = nullptr;
#if CUPTI_API_VERSION >= 130000
  decltype(&::cuptiSubscribe_v2) subscribe_v2 = nullptr;  ///< null in a library before CUDA 13.0
#endif
  decltype(&::cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&::cuptiGetCallbackName) get_callback_name = nullptr;
  decltype(&::cuptiSetThreadIdType) set_thread_id_type = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&::cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&::cuptiActivityEnable) enable = nullptr;
  decltype(&::cuptiActivityDisable) disable = nullptr;
  decltype(&::cuptiEnableCallback) enable_callback = nullptr;
  decltype(&::cuptiGetGraphNodeId) get_graph_node_id = nullptr;
  decltype(&::cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&::cuptiActivityGetNextRecord) get_next_record = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) get_dropped_records = nullptr;

  /// Opens the first of these: the copy that the process has loaded, the system's copy, the file `PROFKIT_CUPTI_PATH`. Never opens a file
  /// in the current directory.
  /// @throws profkit::error if there is none, or it is too old.
  cupti_library() {
    load("cuptiGetVersion", get_version);
    load("cuptiGetResultString", get_result_string);
    load("cuptiSubscribe", subscribe);
#if CUPTI_API_VERSION >= 130000
    subscribe_v2 = reinterpret_cast<decltype(subscribe_v2)>(::dlsym(library_, "cuptiSubscribe_v2"));
#endif
    load("cuptiUnsubscribe", unsubscribe);
    load("cuptiGetCallbackName", get_callback_name);
    std::uint32_t version = 0;
    check(get_version(&version), "cuptiGetVersion");
    if (version < oldest_version) {
      throw error{"libcupti is too old: its version is " + std::to_string(version) + ", at least " + std::to_string(oldest_version) +
                  " (CUDA 12.0) is needed"};
    }
    load("cuptiSetThreadIdType", set_thread_id_type);
    load("cuptiActivityRegisterCallbacks", register_callbacks);
    load("cuptiActivitySetAttribute", set_attribute);
    load("cuptiActivityEnable", enable);
    load("cuptiActivityDisable", disable);
    load("cuptiEnableCallback", enable_callback);
    load("cuptiGetGraphNodeId", get_graph_node_id);
    load("cuptiActivityFlushAll", flush_all);
    load("cuptiActivityGetNextRecord", get_next_record);
    load("cuptiActivityGetNumDroppedRecords", get_dropped_records);
  }

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

  template <class Function>
  void load(char const* name, Function& into) {
    into = reinterpret_cast<Function>(::dlsym(library_, name));
    if (into == nullptr) throw error{std::string{"libcupti is too old: it has no "} + name};
  }

  void* library_ = open();  ///< never closed, because it has its own threads
};

}  // namespace profkit::detail
