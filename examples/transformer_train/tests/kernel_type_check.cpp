// SPDX-License-Identifier: Apache-2.0
//
// Types of kernels from their names, recorded on an H200 with LibTorch 2.11. Names for tf32 and other backends are from other recordings.

#include <algorithm>
#include <cstdint>
#include <profkit/kernel_class.hpp>
#include <string>
#include <vector>

#include "named_check.hpp"
#include "table_check.hpp"
#include "tables/kernel_name.hpp"
#include "tables/kernel_type.hpp"

namespace kernel_type_check {

namespace {

using checks::check;
using checks::check_equal;

void expect(std::string const& type, std::vector<std::string> const& names) {
  for (std::string const& name : names) check_equal(trainer::kernel_type(name), type, name);
}

constexpr char const* flash =
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, "
    "Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false, true, false, false, false, true, false, false>"
    "(pytorch_flash::Flash_fwd_params)";
constexpr char const* efficient =
    "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, cutlass::arch::Sm80, true, 64, 64, 64, true, "
    "true>::Params)";
constexpr char const* cudnn = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0";
constexpr char const* softmax_of_bf16 =
    "void at::native::(anonymous namespace)::cunn_SoftMaxForwardSmem<8, c10::BFloat16, float, c10::BFloat16, at::native::(anonymous "
    "namespace)::LogSoftMaxForwardEpilogue, long>(c10::BFloat16*, c10::BFloat16 const*, long)";
constexpr char const* division =
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, "
    "at::native::binary_internal::DivFunctor<float> > >(at::TensorIteratorBase&, at::native::BinaryFunctor<float, float, float, "
    "at::native::binary_internal::DivFunctor<float> > const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<"
    "at::native::BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> > >(at::TensorIteratorBase&, "
    "at::native::BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> > const&)::{lambda(int)#1})";
constexpr char const* cast_to_bf16 =
    "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, "
    "std::array<char*, 2ul> >(int, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, "
    "std::array<char*, 2ul>)";
constexpr char const* cast_to_fp32 =
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
    "const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, "
    "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int)";

void check_matmuls() {
  expect("bf16",
         {"nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT",
          "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
          "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
          "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x4_tn_align8>(...)",
          "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, false, float, __nv_bfloat16, "
          "__nv_bfloat16, true, false, false, false>(cublasLt::cublasSplitKParams<float>, float const*, __nv_bfloat16 const*)"});
  expect("fp16", {"nvjet_sm90_hsh_192x128_64x5_1x2_h_bz_coopB_NNT", "nvjet_hsh_64x64_64x16_4x1_v_bz_splitK_TNN",
                  "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
                  "ampere_fp16_s1688gemm_fp16_128x128_ldg8_f2f_stages_32x1_nn", "ampere_h16816gemm_128x64_ldg8_stages_64x4_tn",
                  "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_nn_align8>(...)",
                  "void cublasLt::splitKreduce_kernel<32, 16, int, float, __half, float, __half, false, float, __half, __half, true, "
                  "false, false, false>(cublasLt::cublasSplitKParams<float>, float const*, __half const*)"});
  expect("tf32", {"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
                  "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize32x32x64_stage4_warpsize2x2x1_tensor16x8x8_execute_kernel__5x_cublas",
                  "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4>("
                  "cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4::Params)",
                  "nvjet_sss_tf32_128x256_TNT"});
  expect("fp32",
         {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
          "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(cutlass_80_simt_sgemm_256x128_8x4_nn_align1::Params)",
          "ampere_sgemm_128x64_tn", "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false>(float)",
          "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, false, float, float, float, true, false, false, "
          "false>(cublasLt::cublasSplitKParams<float>, float const*, float const*, float*)"});
}

void check_other_kernels() {
  expect("fp32",
         {division, efficient,
          "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
          "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, "
          "(at::native::ADAM_MODE)1, false>, float const*, double, double, double, double, double, bool, float const*>()",
          "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, true>(int, float, float const*)",
          "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float, float, long>(long const*, float const*)",
          "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::(anonymous "
          "namespace)::masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)::{lambda()#1}::operator()() "
          "const::{lambda()#7}::operator()() const::{lambda(float, bool)#1}>(at::TensorIteratorBase&)::{lambda(int)#1}>(int)"});
  expect("bf16", {softmax_of_bf16, flash,
                  "void at::native::vectorized_elementwise_kernel<8, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, "
                  "c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)",
                  "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)"});
  expect("fp16", {"void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::Half>, std::array<char*, 3ul> >(int)",
                  "fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t>::Params)"});
  expect("16 bits", {cudnn, "void cudnn::fusion::convert_dq_to_16bits<true>(void const*, void*, unsigned int, float const*, bool)",
                     "void cudnn::fusion::compute_dot_do_o_specialized<true, 64>(void const*, void const*, void*, float, bool)"});
  expect("bf16+fp32", {cast_to_bf16});
  expect("fp16+fp32", {"void at::native::vectorized_elementwise_kernel<8, at::native::float16_copy_kernel_cuda(at::TensorIteratorBase&)"
                       "::{lambda(float)#1}, std::array<char*, 2ul> >(int)"});
  expect("fp32+cast", {cast_to_fp32});
  expect("complex fp32",
         {"void at::native::vectorized_elementwise_kernel<2, at::native::conj_kernel_cuda(at::TensorIteratorBase&)::{lambda()"
          "#2}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10::complex<float>)#1}>(int)"});
  expect("int64", {"void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out(c10::Scalar const&, "
                   "c10::Scalar const&, c10::Scalar const&, at::Tensor&)::{lambda(long)#1}>(int)"});
  expect("bool",
         {"void at::native::triu_tril_kernel<bool, int, true, 8, false>(at::cuda::detail::TensorInfo<bool, int>, long, long, int)"});
  expect("unnamed", {"void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)",
                     "erfinv_kernel_vectorized4_kernel", "my_longer_kernel", "nvjet_", "nvjet_sm90", "nvjet_sm90_", ""});
}

void check_short_names() {
  check_equal(trainer::short_kernel_name(division), "elementwise_kernel<128, 2, BinaryFunctor<float, float, float, DivFunctor<float> >>",
              "short name");
  check_equal(trainer::short_kernel_name(cast_to_bf16), "vectorized_elementwise_kernel<8, bfloat16_copy_kernel_cuda::{lambda(float)#1} >",
              "short name");
  check_equal(trainer::short_kernel_name(cudnn),
              "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob...4x128x64_4x1x1_cga1x1x1_kernel0_0", "short name");
  for (char const* const strange : {"", "(", "<", "a(", "{lambda()#1", ", std::array<char*, ", "(at::TensorIterator", "a>>>(b)"}) {
    check(trainer::short_kernel_name(strange).size() <= std::string{strange}.size(), "a strange name is not cut");
  }
  check(trainer::short_kernel_name(std::string(500, 'x'), 40).size() == 40, "a long name is not cut to its width");
}

profkit::summary summary_of(std::vector<profkit::kernel_summary> kernels) {
  profkit::summary summary;
  summary.steps.host.count = 2;
  summary.gpu.emplace();
  summary.gpu->steps = 2;
  summary.gpu->kernels = std::move(kernels);
  return summary;
}

profkit::kernel_summary kernel(std::string name, std::uint64_t count, double ms) {
  profkit::kernel_summary result;
  result.kernel_class = profkit::kernel_class_of(name);
  result.name = std::move(name);
  result.time.count = count;
  result.time.total = profkit::milliseconds{ms};
  return result;
}

void check_table() {
  profkit::summary const summary =
      summary_of({kernel("nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", 10, 40.0), kernel("nvjet_sm90_tst_96x64_64x8_1x2_h_bz_NNN", 5, 20.0),
                  kernel(cast_to_bf16, 7, 15.0), kernel(softmax_of_bf16, 2, 10.0), kernel(cast_to_fp32, 3, 5.0),
                  kernel("void cunn_SoftMaxForward<4, float, float, float>(float*)", 1, 10.0)});
  trainer::titled_table const table = trainer::type_table(summary);
  checks::cells const cells{table.content, 2};
  check(cells.names() ==
            std::vector<std::string>{"matmul, bf16", "copy/cast, bf16+fp32", "copy/cast, fp32+cast", "softmax, bf16", "softmax, fp32"},
        table.content.to_csv());
  check_equal(cells.at("matmul, bf16", "calls"), "15", "calls");
  check_equal(cells.at("matmul, bf16", "total_ms"), "60.000", "total_ms");
  check_equal(cells.at("matmul, bf16", "ms/step"), "30.000", "ms/step");
  check_equal(cells.at("matmul, bf16", "share_of_class"), "100.0 %", "share_of_class");
  check_equal(cells.at("matmul, bf16", "share_of_kernels"), "60.0 %", "share_of_kernels");
  check_equal(cells.at("matmul, bf16", "longest kernel"), "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", "longest kernel");
  check_equal(cells.at("copy/cast, fp32+cast", "share_of_class"), "25.0 %", "share_of_class");
  check_equal(table.notes.front(),
              "By time: matmul: 100.0 % bf16; copy/cast: 75.0 % bf16+fp32, 25.0 % fp32+cast; softmax: 50.0 % bf16, 50.0 % fp32.",
              "in words");
}

void check_table_without_kernels() {
  profkit::summary summary;
  summary.collectors = {{"kernels", "not collected", "another tool has CUPTI", profkit::collector_kind::kernels}};
  trainer::titled_table const table = trainer::type_table(summary);
  check(table.content.empty(), "there are types without kernels");
  check_equal(table.notes.front(), "GPU kernels: not collected (another tool has CUPTI).", "note");
  check_equal(trainer::type_table(summary_of({})).notes.front(), "No kernel was launched in the measured steps.", "note");
}

void check_backends() {
  auto const backend = [](std::vector<profkit::kernel_summary> kernels) {
    kernels.push_back(kernel("nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", 10, 1.0));
    return trainer::sdpa_backend_of(summary_of(std::move(kernels))).value_or("none");
  };
  check_equal(backend({kernel(flash, 1, 2.0)}), "flash", "backend");
  check_equal(backend({kernel(efficient, 1, 2.0)}), "efficient", "backend");
  check_equal(backend({kernel(cudnn, 1, 2.0)}), "cudnn", "backend");
  check_equal(backend({kernel("my_attention", 1, 2.0)}), "unknown", "backend");
  check_equal(backend({kernel("void (anonymous namespace)::softmax_warp_forward<float>(float*)", 1, 2.0)}), "math", "backend");
  check(!trainer::sdpa_backend_of({}), "a backend without kernels");
  check(!trainer::sdpa_backend_of(summary_of({})), "a backend without kernels");
}

int run(int /*count*/, char** /*arguments*/) {
  check_matmuls();
  check_other_kernels();
  check_short_names();
  check_table();
  check_table_without_kernels();
  check_backends();
  return checks::failures == 0 ? 0 : 1;
}

checks::named_check const registered{"kernel_type", run};

}  // namespace

}  // namespace kernel_type_check
