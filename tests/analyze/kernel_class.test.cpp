// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/kernel_class.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/testing.hpp"

namespace {

void check_class(std::string const& expected, std::vector<std::string> const& names) {
  for (std::string const& name : names) {
    INFO(name);
    CHECK(profkit::kernel_class_of(name) == expected);
  }
}

}  // namespace

TEST_CASE("matrix products of every library are matmul", "[kernel_class]") {
  check_class(
      "matmul",
      {"ampere_sgemm_128x64_tn", "volta_sgemm_32x32_sliced1x4_nn", "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
       "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
       "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
       "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "nvjet_hsh_64x64_64x16_4x1_v_bz_splitK_TNN",
       "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x4_tn_align8>("
       "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x4_tn_align8::Params)",
       "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, "
       "cutlass::gemm::collective::CollectiveMma<...> > >(cutlass::gemm::kernel::GemmUniversal<...>::Params)",
       "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, true, true, false>("
       "cublasLt::cublasSplitKParams<float>, float const*, __nv_bfloat16 const*)",
       "void splitKreduce_kernel<32, 16, int, float, float, float, float, true, false, false>(cublasSplitKParams<float>)",
       "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false, cublasGemvParamsEx<int>>(float)",
       "void gemvNSP_kernel<float, float, float, float, 1, 32, 4, 1024, cublasGemvParamsEx<int>>(cublasGemvParamsEx<int>)",
       "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float>()",
       "void gemmSN_NN_kernel<float, 128, 2, 4, 8, 3, 4, false>(cublasGemmSmallNParams<float>)",
       "void dot_kernel<float, 128, 0, cublasDotParams<cublasGemvTensor<float const>, cublasGemvTensorStridedBatched<float> > >()",
       "void reduce_1Block_kernel<float, 128, 7, cublasGemvTensorStridedBatched<float> >(float const*, float, int)", "triton_mm",
       "triton_tem_fused_addmm_1"});
}

TEST_CASE("fused attention is attention, although it is built from CUTLASS", "[kernel_class]") {
  check_class("attention",
              {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, "
               "cutlass::bfloat16_t>, false, true, false>(pytorch_flash::Flash_fwd_params)",
               "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<...>(pytorch_flash::Flash_bwd_params)",
               "void pytorch_flash::flash_bwd_dot_do_o_kernel<true, ...>(pytorch_flash::Flash_bwd_params)",
               "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)",
               "fmha_cutlassB_f32_aligned_64x64_k64_sm80(PyTorchMemEffAttention::AttentionBackwardKernel<...>::Params)",
               "void attention_kernel_batched_impl<AttentionKernel<float, cutlass::arch::Sm80, true, 64, 64, 64, true, true> >()",
               "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_64x128x128_4x1x1_cga1x1x1_kernel0_0"});
}

TEST_CASE("softmax, norms, embeddings, optimizers and communication have their classes", "[kernel_class]") {
  check_class(
      "softmax",
      {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float, float, "
       "at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, float const*, int)",
       "void at::native::(anonymous namespace)::cunn_SoftMaxForwardSmem<8, float, float, float, at::native::SoftMaxForwardEpilogue>()",
       "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, float, float, float, ...LogSoftMaxBackwardEpilogue>()",
       "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>(float*, float const*, int, int, int)",
       "void (anonymous namespace)::softmax_warp_backward<float, float, float, 9, false, false>(float*, float const*)",
       "triton_per_fused__softmax_2", "liger_cross_entropy_kernel"});
  check_class("norm", {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int, float)",
                       "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<float, float>(float const*)",
                       "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float, 64u, 32u>(long, long)",
                       "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>(long, float, float const*, float*, float*)",
                       "void at::native::batch_norm_collect_statistics_kernel<at::native::InvStd, float, float, float, int>()",
                       "void cudnn::bn_fw_tr_1C11_kernel_NHWC<float, float, float, 512, true, 1, true>(cudnnTensorStruct)",
                       "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::GroupNormKernelImplInternal<"
                       "float>(at::Tensor const&)::{lambda(float, float)#1}, std::array<char*, 3ul> >(int)",
                       "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*)"});
  check_class(
      "embedding/index",
      {"void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>()",
       "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)",
       "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<...>(at::TensorIteratorBase&)::{lambda(int)#1}>()",
       "void at::native::indexing_backward_kernel<float, 4>(long const*, long const*, float const*, float*, long, long, long, long, bool)",
       "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float, float, long>(long const*, float const*)",
       "void at::native::(anonymous namespace)::compute_grad_weight<float, long>(long const*, float const*, long, long)",
       "void at::native::(anonymous namespace)::sum_and_scatter<float, long>(long const*, float*, long, long const*, float const*)",
       "void at::native::(anonymous namespace)::krn_partial_segment_offset<long>(long*, long const*, long const*, long const*, long)",
       "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<...> >(int)",
       "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::DeviceRadixSortPolicy<long, long, int>::Policy900>()",
       "void at_cuda_detail::cub::DeviceRadixSortHistogramKernel<...>(unsigned int*, long const*, unsigned int, int, int)",
       "void at::native::bitonicSortKVInPlace<-2, -1, 16, 16, float, long, at::native::GTOp<float, true>, unsigned int>()",
       "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__unique_by_key::UniqueByKeyAgent<long*> >(long*)",
       "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>()"});
  check_class(
      "optimizer",
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
       "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, "
       "(at::native::ADAM_MODE)1, false>, float const*, double, double>()",
       "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<1>, "
       "at::native::(anonymous namespace)::LpNormFunctor<float, (at::native::NormType)1, float, 1, 1, 0> >()",
       "at::native::amp_update_scale_cuda_kernel(float*, int*, float const*, double, double, int)"});
  check_class("communication", {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                                "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                                "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)"});
  check_class("convolution", {"sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4",
                              "void cudnn::cnn::wgrad2d_grouped_direct_kernel<float, float, float, int, 128, 1>()",
                              "void implicit_convolve_sgemm<float, float, 128, 6, 7, 3, 3, 5, 1, false, false, true>(int, int, int)"});
}

TEST_CASE("an elementwise kernel that only copies is a copy, and one that sums is a reduction", "[kernel_class]") {
  check_class(
      "copy/cast",
      {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()"
       "() const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1>, LoadWithCast<1>, StoreWithCast<1> >()",
       "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda("
       "at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}>()",
       "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}"
       ", std::array<char*, 2ul> >(int)",
       "void at::native::vectorized_elementwise_kernel<4, "
       "at::native::float16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}>",
       "void at::native::(anonymous namespace)::CatArrayBatchedCopy_contig<at::native::(anonymous namespace)::OpaqueType<4u>, unsigned "
       "int, "
       "2, 128, 1>()",
       "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<4u>, unsigned int>()"});
  check_class(
      "reduction",
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
       "at::native::sum_functor<float, "
       "float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4, 4> >()",
       "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int> "
       ">()",
       "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>, unsigned int> >()",
       "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*, float*, float const*)",
       "void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float> >(float*, float const*, unsigned int)",
       "void at_cuda_detail::cub::DeviceReduceSingleTileKernel<...>(float*, float*, int)", "triton_red_fused_add_mean_mul_pow_rsqrt_0"});
  check_class(
      "elementwise",
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
       "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)",
       "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)::{lambda(float)#1}>(int)",
       "void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>, 4, LoadWithCast<2> >()",
       "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, "
       "at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&)::{lambda(int)#1}>()",
       "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::(anonymous namespace)::"
       "where_kernel_impl(at::TensorIterator&)::{lambda(bool, float, float)#1}>()",
       "void at::native::vectorized_elementwise_kernel<4, at::native::rsqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}>(int)",
       "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::pow_tensor_scalar_kernel_impl<float, "
       "float>(at::TensorIteratorBase&, float)::{lambda(float)#1}>(int)",
       "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::masked_fill_kernel(at::TensorIterator&)>(int)",
       "void at::native::triu_tril_kernel<float, int, false, 4, false>(at::cuda::detail::TensorInfo<float, int>, long, long, int)",
       "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out(c10::Scalar "
       "const&)::{lambda(long)#1}>()",
       "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, "
       "at::native::templates::cuda::normal_and_transform<float, float, at::CUDAGeneratorImpl*>()>()",
       "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned int, 1, 4, bool>()",
       "void at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d<float, long>(float*, float const*)",
       "triton_poi_fused_add_mul_silu_3"});
}

TEST_CASE("a kernel that no rule matches is other", "[kernel_class]") {
  check_class("other", {"my_kernel(float*)", "", "void (anonymous namespace)::step<1>(int)"});
}

TEST_CASE("a kernel communicates if its class is communication", "[kernel_class]") {
  profkit::kernel_class_rules rules = profkit::default_kernel_classes();
  rules.insert(rules.begin(), {"mine", {"nccl_mine"}});
  rules.insert(rules.begin() + 4, {"communication", {"halo"}});
  profkit::detail::kernel_classifier const classifier{rules};
  CHECK(classifier.is_communication("ncclDevKernel_AllReduce"));
  CHECK(classifier.is_communication("Halo_exchange"));
  for (char const* const other : {"nccl_mine", "adam_halo", "ampere_sgemm_128x64_tn", ""}) {
    CHECK_FALSE(classifier.is_communication(other));
    CHECK(classifier(other) != "communication");
  }
  CHECK_FALSE(profkit::detail::kernel_classifier{{}}.is_communication("ncclDevKernel_AllReduce"));
}

TEST_CASE("the first matching rule decides, regardless of case", "[kernel_class]") {
  profkit::kernel_class_rules rules = profkit::default_kernel_classes();
  rules.insert(rules.begin(), {"mine", {"Cutlass::KERNEL2", "my_kernel"}});
  CHECK(profkit::kernel_class_of("void cutlass::Kernel2<gemm>()", rules) == "mine");
  CHECK(profkit::kernel_class_of("My_Kernel", rules) == "mine");
  CHECK(profkit::kernel_class_of("ampere_sgemm_128x64_tn", rules) == "matmul");
  CHECK(profkit::kernel_class_of("anything", {}) == "other");

  profkit::summary const summary = profkit::analyze(made_gpu_profile(), {rules});
  CHECK(std::any_of(summary.gpu->classes.begin(), summary.gpu->classes.end(), [](auto const& row) { return row.name == "mine"; }));
}
