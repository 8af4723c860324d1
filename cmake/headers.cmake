# Every header of include/, in the file set of the one target that it belongs to. The test architecture.includes compares these lists
# with the folder.

set(PROFKIT_HEADERS
    profkit/options.hpp
    profkit/profkit.hpp
    profkit/scope.hpp
    profkit/session.hpp
    profkit/version.hpp
    profkit/analyze/analyze.hpp
    profkit/analyze/attribution.hpp
    profkit/analyze/statistics.hpp
    profkit/analyze/summary.hpp
    profkit/collect/collector.hpp
    profkit/collect/host_environment.hpp
    profkit/collect/host_memory.hpp
    profkit/collect/memory_source.hpp
    profkit/collect/nvtx.hpp
    profkit/profile/archive.hpp
    profkit/profile/error.hpp
    profkit/profile/profile.hpp
    profkit/profile/save_load.hpp
    profkit/profile/time.hpp
    profkit/record/clock.hpp
    profkit/record/log_reader.hpp
    profkit/record/overhead.hpp
    profkit/record/recorder.hpp
    profkit/record/scope.hpp
    profkit/record/site.hpp
    profkit/record/step.hpp
    profkit/record/thread_log.hpp
    profkit/record/thread_registry.hpp
    profkit/record/ticks.hpp
    profkit/report/json_writer.hpp
    profkit/report/number_format.hpp
    profkit/report/quality_text.hpp
    profkit/report/report.hpp
    profkit/report/report_json.hpp
    profkit/report/table.hpp
    profkit/report/tables.hpp)

set(PROFKIT_CUDA_HEADERS
    profkit/cuda.hpp
    profkit/collect/cuda_environment.hpp
    profkit/collect/cuda_error.hpp
    profkit/collect/cuda_event_pair.hpp
    profkit/collect/cuda_gpu_scope.hpp
    profkit/collect/cuda_memory.hpp
    profkit/collect/cuda_step_timer.hpp
    profkit/collect/cuda_timing_log.hpp)

set(PROFKIT_CUPTI_HEADERS)
