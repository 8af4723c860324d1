// SPDX-License-Identifier: Apache-2.0
//
// What the CUDA driver calls in a program that `profkit run` started, and the functions of the CUDA runtime that profkit's collectors call.
// The program may use any version of the runtime, or none, so this library does not link it. These stand-ins call the driver, and never
// create a context.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/auxv.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <profkit/cuda.hpp>
#include <profkit/cupti_code.hpp>
#include <profkit/impl/session/session_exit.hpp>

#include "ranges.hpp"
#include "run_session.hpp"

namespace profkit_run {
namespace {

/// Functions of the driver, found once; the program has loaded it. A function that it does not have returns CUDA_ERROR_NOT_FOUND.
class driver {
  void* library_ = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

  template <class... Arguments>
  class function {
   public:
    function(void* library, char const* name) noexcept : call_{profkit::detail::library_function{library, name}} {}
    CUresult operator()(Arguments... arguments) const noexcept { return call_ == nullptr ? CUDA_ERROR_NOT_FOUND : call_(arguments...); }

   private:
    CUresult (*call_)(Arguments...);
  };

 public:
  function<CUdevice*> const ctx_get_device{library_, "cuCtxGetDevice"};
  function<CUcontext> const ctx_push_current{library_, "cuCtxPushCurrent_v2"};
  function<CUcontext*> const ctx_pop_current{library_, "cuCtxPopCurrent_v2"};
  function<int*> const device_get_count{library_, "cuDeviceGetCount"};
  function<char*, int, CUdevice> const device_get_name{library_, "cuDeviceGetName"};
  function<char*, int, CUdevice> const device_get_pci_bus_id{library_, "cuDeviceGetPCIBusId"};
  function<CUdevice, unsigned*, int*> const primary_context_state{library_, "cuDevicePrimaryCtxGetState"};
  function<CUcontext*, CUdevice> const primary_context_retain{library_, "cuDevicePrimaryCtxRetain"};
  function<CUdevice> const primary_context_release{library_, "cuDevicePrimaryCtxRelease_v2"};
  function<int*> const driver_get_version{library_, "cuDriverGetVersion"};
  function<std::size_t*, std::size_t*> const mem_get_info{library_, "cuMemGetInfo_v2"};

  static driver const& only() noexcept {
    static driver const value;
    return value;
  }
};

cudaError_t status_of(CUresult result) noexcept { return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorUnknown; }

/// The device that is in use on this thread, otherwise the first one that the process uses.
CUdevice device_in_use() noexcept {
  driver const& cuda = driver::only();
  CUdevice device = 0;
  if (cuda.ctx_get_device(&device) == CUDA_SUCCESS) return device;
  int count = 0;
  if (cuda.device_get_count(&count) != CUDA_SUCCESS) return 0;
  for (device = 0; device < count; ++device) {
    unsigned flags = 0;
    int is_active = 0;
    if (cuda.primary_context_state(device, &flags, &is_active) == CUDA_SUCCESS && is_active != 0) return device;
  }
  return 0;
}

/// While `cuInit` runs, the driver must not be called.
std::atomic<bool> is_in_init{false};

/// As soon as the program uses a device: describes it, adds the collectors that read it, and puts the end of the session before that of the
/// driver.
class device_note final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "device"; }
  void drain(profkit::profile_builder& into, bool last) override {
    if (is_described_ || last || is_in_init) return;
    if (search_.find().empty()) return;
    is_described_ = true;
    profkit::detail::session_exit::run_before_later_handlers();
    static_cast<void>(profkit::detail::describe_cuda(into.environment()));
    run_session::only().take(std::make_unique<profkit::cuda_memory>());
    run_session::only().take(std::make_unique<profkit::gpu_clocks>());
  }

 private:
  profkit::detail::devices_in_use search_;
  bool is_described_ = false;
};

/// Charges what the autograd engine launches outside ranges to the scope that waits for it. Called before each launch, on its thread.
void follow_from_autograd_thread() noexcept {
  enum : unsigned char { unknown, other, autograd };
  static thread_local unsigned char kind = unknown;
  static thread_local profkit::detail::scope_node const* charged = nullptr;
  if (kind == unknown) kind = is_autograd_thread() ? autograd : other;
  if (kind == other) return;
  std::optional<profkit::scope_token> const scope = run_session::only().followed.find();
  if (!scope || scope->node() == charged) return;
  static profkit::site engine{"autograd engine", "PyTorch", 0};
  charged = scope->node();
  charged != nullptr ? profkit::detail::charge_launches_to(charged, engine) : profkit::set_default_scope(engine, {});
}

}  // namespace
}  // namespace profkit_run

/// Called by the driver in `cuInit` (CUDA_INJECTION64_PATH).
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace profkit_run;
  run_session& session = run_session::only();
  static std::atomic<bool> has_begun{false};
  if (::getauxval(AT_SECURE) != 0 || has_begun.exchange(true) || !session.records()) return 1;
  is_in_init = true;
  profkit::detail::cuda.is_initialised = true;
  profkit::detail::cupti_launches::before_launch().store(follow_from_autograd_thread);
  session.take(profkit::cupti_kernels{}.made);
  session.take(std::make_unique<device_note>());
  is_in_init = false;
  return 1;
}

extern "C" {

cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
char const* cudaGetErrorString(cudaError_t) { return "a call of the CUDA driver failed"; }
char const* cudaGetErrorName(cudaError_t) { return "cudaErrorUnknown"; }
cudaError_t cudaFree(void*) { return cudaErrorNotSupported; }

cudaError_t cudaGetDevice(int* device) {
  *device = profkit_run::is_in_init ? 0 : profkit_run::device_in_use();
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  std::memset(properties->name, 0, sizeof properties->name);
  if (profkit_run::is_in_init) return cudaSuccess;
  int const length = sizeof properties->name;
  return profkit_run::status_of(profkit_run::driver::only().device_get_name(&properties->name[0], length, device));
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return profkit_run::status_of(profkit_run::driver::only().device_get_pci_bus_id(text, length, device));
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 0;
  if (profkit_run::is_in_init) return cudaSuccess;
  return profkit_run::status_of(profkit_run::driver::only().driver_get_version(version));
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  if (profkit_run::is_in_init) return cudaErrorInitializationError;
  profkit_run::driver const& cuda = profkit_run::driver::only();
  if (cuda.mem_get_info(free_bytes, total_bytes) == CUDA_SUCCESS) return cudaSuccess;
  CUdevice const device = profkit_run::device_in_use();  // this thread has no context
  CUcontext context = nullptr;
  if (cuda.primary_context_retain(&context, device) != CUDA_SUCCESS) return cudaErrorUnknown;
  CUresult result = cuda.ctx_push_current(context);
  if (result == CUDA_SUCCESS) {
    result = cuda.mem_get_info(free_bytes, total_bytes);
    static_cast<void>(cuda.ctx_pop_current(&context));
  }
  static_cast<void>(cuda.primary_context_release(device));
  return profkit_run::status_of(result);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned) { return cudaErrorNotSupported; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaErrorNotSupported; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaErrorNotSupported; }
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t) { return cudaErrorNotSupported; }
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaErrorNotSupported; }

}  // extern "C"
