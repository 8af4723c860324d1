#Every header of include /, in the file set of its target.The test architecture.includes compares these lists with the folder.

set(PROFKIT_HEADERS profkit / code.hpp profkit / options.hpp profkit / profkit.hpp profkit / scope.hpp profkit / session.hpp profkit /
    version.hpp profkit / analyze / analysis.hpp profkit / analyze / analysis_parts.hpp profkit / analyze / analysis_state.hpp profkit /
    analyze / analysis_work.hpp profkit / analyze / analyze.hpp profkit / analyze / analyze_code.hpp profkit / analyze /
    analyze_options.hpp profkit / analyze / budget_summary.hpp profkit / analyze / check_summary.hpp profkit / analyze /
    complete_summary.hpp profkit / analyze / copied_record_fields.hpp profkit / analyze / duration_summary.hpp profkit / analyze / gpu /
    added_union.hpp profkit / analyze / gpu / api_call_kind.hpp profkit / analyze / gpu / attribution.hpp profkit / analyze / gpu /
    budget_parts.hpp profkit / analyze / gpu / busy_sums.hpp profkit / analyze / gpu / counted_operations.hpp profkit / analyze / gpu /
    device_clocks.hpp profkit / analyze / gpu / device_utilization.hpp profkit / analyze / gpu / gpu_idle.hpp profkit / analyze / gpu /
    gpu_step_periods.hpp profkit / analyze / gpu / gpu_summary.hpp profkit / analyze / gpu / gpu_sums.hpp profkit / analyze / gpu /
    gpu_work.hpp profkit / analyze / gpu / idle_stretches.hpp profkit / analyze / gpu / innermost_scopes.hpp profkit / analyze / gpu /
    kernel_class.hpp profkit / analyze / gpu / kernels_of_scope.hpp profkit / analyze / gpu / operation_spans.hpp profkit / analyze / gpu /
    step_budget.hpp profkit / analyze / gpu / thread_calls.hpp profkit / analyze / gpu / timed_operation.hpp profkit / analyze / gpu /
    utilization_fields.hpp profkit / analyze / gpu / utilization_summary.hpp profkit / analyze / kinds / kind_key.hpp profkit / analyze /
    kinds / kind_names.hpp profkit / analyze / kinds / kind_positions.hpp profkit / analyze / kinds / kind_recorder.hpp profkit / analyze /
    kinds / kind_rows.hpp profkit / analyze / kinds / kind_table.hpp profkit / analyze / kinds / launched_kernels.hpp profkit / analyze /
    kinds / listed_steps.hpp profkit / analyze / kinds / step_kinds.hpp profkit / analyze / kinds / wall_by_kind.hpp profkit / analyze /
    make_summary.hpp profkit / analyze / memory / memory_balance.hpp profkit / analyze / memory / memory_before.hpp profkit / analyze /
    memory / memory_changes.hpp profkit / analyze / memory / memory_sums.hpp profkit / analyze / memory / memory_totals.hpp profkit /
    analyze / memory / scope_memory.hpp profkit / analyze / memory / scope_memory_summary.hpp profkit / analyze / merge /
    add_rows.hpp profkit / analyze / merge / gpu_figures.hpp profkit / analyze / merge / gpu_period_list.hpp profkit / analyze / merge /
    joined_stretches.hpp profkit / analyze / merge / merged_counters.hpp profkit / analyze / merge / merged_paths.hpp profkit / analyze /
    merge / merged_readings.hpp profkit / analyze / merge / moved.hpp profkit / analyze / merge / session_header.hpp profkit / analyze /
    merge / step_list.hpp profkit / analyze / merge / step_series.hpp profkit / analyze / merge / stretch_figures.hpp profkit / analyze /
    merge / trend_part.hpp profkit / analyze / names / nsys_kernel_name.hpp profkit / analyze / names / nsys_ranges.hpp profkit / analyze /
    names / nsys_statistics.hpp profkit / analyze / names / nsys_summary.hpp profkit / analyze / names / nvidia_demangler.hpp profkit /
    analyze / names / nvidia_demangler_expressions.hpp profkit / analyze / names / nvidia_demangler_names.hpp profkit / analyze / names /
    nvidia_demangler_types.hpp profkit / analyze / ranks / collective_name.hpp profkit / analyze / ranks / collective_waits.hpp profkit /
    analyze / ranks / communicator_parts.hpp profkit / analyze / ranks / differing_scopes.hpp profkit / analyze / ranks /
    found_collectives.hpp profkit / analyze / ranks / excess_finder.hpp profkit / analyze / ranks / frontier.hpp profkit / analyze / ranks /
    holding_ranks.hpp profkit / analyze / ranks / host_segments.hpp profkit / analyze / ranks / job_checks.hpp profkit / analyze / ranks /
    job_collectives.hpp profkit / analyze / ranks / job_fields.hpp profkit / analyze / ranks / job_functions.hpp profkit / analyze / ranks /
    job_rank.hpp profkit / analyze / ranks / job_summary.hpp profkit / analyze / ranks / make_job.hpp profkit / analyze / ranks /
    matched_collectives.hpp profkit / analyze / ranks / rank_clocks.hpp profkit / analyze / ranks / rank_timeline.hpp profkit / analyze /
    ranks / slow_host.hpp profkit / analyze / ranks / stale_ranks.hpp profkit / analyze / ranks / straggler_search.hpp profkit / analyze /
    ranks / timeline_fields.hpp profkit / analyze / ranks / timeline_part.hpp profkit / analyze / ranks / timeline_recorder.hpp profkit /
    analyze / ranks / timeline_segments.hpp profkit / analyze / ranks / typical_step.hpp profkit / analyze / ranks /
    wait_union.hpp profkit / analyze / step_fields.hpp profkit / analyze / step_kind_summary.hpp profkit / analyze /
    step_summary.hpp profkit / analyze / summary.hpp profkit / analyze / summary_fields.hpp profkit / analyze / time /
    adopted_scopes.hpp profkit / analyze / time / adopted_sums.hpp profkit / analyze / time / adoption_rows.hpp profkit / analyze / time /
    bucket_order.hpp profkit / analyze / time / durations.hpp profkit / analyze / time / exact_sums.hpp profkit / analyze / time /
    grouped_positions.hpp profkit / analyze / time / measured_time.hpp profkit / analyze / time / path_tree.hpp profkit / analyze / time /
    quantile_sketch.hpp profkit / analyze / time / run_trend.hpp profkit / analyze / time / scope_rows.hpp profkit / analyze / time /
    scope_times.hpp profkit / analyze / time / select_quantile.hpp profkit / analyze / time / statistics.hpp profkit / analyze / time /
    step_rows.hpp profkit / analyze / time / step_times.hpp profkit / analyze / time / thread_lanes.hpp profkit / analyze / time /
    thread_timeline.hpp profkit / analyze / time / time_per_step.hpp profkit / analyze / time / trend_windows.hpp profkit / analyze /
    verdict / autocorrelation.hpp profkit / analyze / verdict / cosine_series.hpp profkit / analyze / verdict / level_change.hpp profkit /
    analyze / verdict / mean_interval.hpp profkit / analyze / verdict / noise_fit.hpp profkit / analyze / verdict /
    noise_model.hpp profkit / analyze / verdict / outliers.hpp profkit / analyze / verdict / run_trend_summary.hpp profkit / analyze /
    verdict / steady_part.hpp profkit / analyze / verdict / step_verdict.hpp profkit / analyze / verdict / stop_rule.hpp profkit / analyze /
    verdict / student.hpp profkit / analyze / verdict / trend.hpp profkit / analyze / verdict / verdict_summary.hpp profkit / analyze /
    verdict / warmup_finding.hpp profkit / analyze / samples / device_waits.hpp profkit / analyze / samples / sample_rows.hpp profkit /
    analyze / samples / sample_sums.hpp profkit / analyze / samples / samples_summary.hpp profkit / analyze / window.hpp profkit / analyze /
    work / device_peaks.hpp profkit / analyze / work / model_flops.hpp profkit / analyze / work / scope_work.hpp profkit / analyze / work /
    work_summary.hpp profkit / analyze / work / work_sums.hpp profkit / analyze / work_fields.hpp profkit / collect /
    collector.hpp profkit / collect / collector_code.hpp profkit / collect / collector_list.hpp profkit / collect /
    device_windows.hpp profkit / collect / devices_in_use.hpp profkit / collect / gpu_utilization.hpp profkit / collect /
    run_ahead_limiter.hpp profkit / collect / host_environment.hpp profkit / collect / host_memory.hpp profkit / collect /
    host_probe.hpp profkit / collect / code_modules.hpp profkit / collect / blocked_signals.hpp profkit / collect /
    code_sample.hpp profkit / collect / cpu_timer_ring.hpp profkit / collect / dwarf_library.hpp profkit / collect /
    elf_symbols.hpp profkit / collect / function_label.hpp profkit / collect / function_names.hpp profkit / collect /
    host_sample_options.hpp profkit / collect / host_samples.hpp profkit / collect / host_sampling.hpp profkit / collect /
    perf_ring.hpp profkit / collect / sample_source.hpp profkit / collect / sampled_thread.hpp profkit / collect /
    source_lines.hpp profkit / collect / signal_stack.hpp profkit / collect / made_collector.hpp profkit / collect /
    make_collectors.hpp profkit / collect / measured_roof.hpp profkit / collect / memory_source.hpp profkit / collect /
    nvml_gpm.hpp profkit / collect / nvml_library.hpp profkit / collect / nvml_utilization.hpp profkit / collect / nvtx.hpp profkit /
    collect / nvtx_code.hpp profkit / collect / nvtx_ranges.hpp profkit / collect / own_mutex.hpp profkit / collect /
    scope_node_paths.hpp profkit / collect / utilization_measurement.hpp profkit / collect / utilization_times.hpp profkit / drain /
    arrival.hpp profkit / drain / drain_pace.hpp profkit / drain / event_records.hpp profkit / drain / last_call.hpp profkit / drain /
    log_drain.hpp profkit / drain / log_events.hpp profkit / drain / log_reader.hpp profkit / drain / open_ranges.hpp profkit / drain /
    recent_sites.hpp profkit / drain / scope_collectives.hpp profkit / drain / scope_paths.hpp profkit / drain / step_queue.hpp profkit /
    drain / step_scopes.hpp profkit / drain / wrong_end_text.hpp profkit / profile / amount_budget.hpp profkit / profile /
    archive_reader.hpp profkit / profile / archive_writer.hpp profkit / profile / archived_state.hpp profkit / profile /
    byte_output.hpp profkit / profile / check_read.hpp profkit / profile / validate.hpp profkit / profile / checksum.hpp profkit / profile /
    code_elsewhere.hpp profkit / profile / collective_record.hpp profkit / profile / copy_direction.hpp profkit / profile /
    device_utilization_record.hpp profkit / profile / described.hpp profkit / profile / earlier_formats.hpp profkit / profile /
    error.hpp profkit / profile / finite.hpp profkit / profile / flat_records.hpp profkit / profile / input_file.hpp profkit / profile /
    journal_encoder.hpp profkit / profile / journal_content.hpp profkit / profile / journal_file.hpp profkit / profile /
    journal_format.hpp profkit / profile / make_profile.hpp profkit / profile / make_profile_builder.hpp profkit / profile /
    journal_reader.hpp profkit / profile / launch_numbers.hpp profkit / profile / name_positions.hpp profkit / profile /
    atomic_file.hpp profkit / profile / own_memory.hpp profkit / profile / path_table.hpp profkit / profile / profile.hpp profkit /
    profile / profile_file_code.hpp profkit / profile / profile_builder.hpp profkit / profile / profile_builder_code.hpp profkit / profile /
    profile_follower.hpp profkit / profile / quality_record.hpp profkit / profile / rank_record.hpp profkit / profile /
    sample_record.hpp profkit / profile / record_fields.hpp profkit / profile / save_load.hpp profkit / profile / sliced_copy.hpp profkit /
    profile / time.hpp profkit / profile / wide_integer.hpp profkit / profile / work.hpp profkit / profile / write_signals.hpp profkit /
    record / add_work.hpp profkit / record / adopting_scope.hpp profkit / record / api_call.hpp profkit / record /
    calendar_clock.hpp profkit / record / clock.hpp profkit / record / collective.hpp profkit / record / errno_keeper.hpp profkit / record /
    function_name.hpp profkit / record / library_pin.hpp profkit / record / log_chunk.hpp profkit / record / log_event.hpp profkit /
    record / log_memory.hpp profkit / record / log_state.hpp profkit / record / make_step.hpp profkit / record / memory_events.hpp profkit /
    record / memory_poll.hpp profkit / record / open_scope_word.hpp profkit / record / own_thread.hpp profkit / record /
    recorder.hpp profkit / record / scope.hpp profkit / record / scope_listener.hpp profkit / record / scope_node.hpp profkit / record /
    scope_token.hpp profkit / record / site.hpp profkit / record / step.hpp profkit / record / step_code.hpp profkit / record /
    thread_log.hpp profkit / record / thread_name.hpp profkit / record / thread_pointer.hpp profkit / record / thread_registry.hpp profkit /
    record / default_scope.hpp profkit / record / ticks.hpp profkit / record / slow_path.hpp profkit / record / waker.hpp profkit / record /
    wrong_end.hpp profkit / report / budget_section.hpp profkit / report / cells.hpp profkit / report / change_words.hpp profkit / report /
    column_numbers.hpp profkit / report / compact_trace_hook.hpp profkit / report / counters_section.hpp profkit / report /
    sampled_boxes.hpp profkit / report / samples_section.hpp profkit / report / coverage_text.hpp profkit / report /
    csv_printer.hpp profkit / report / data_table.hpp profkit / report / deflate.hpp profkit / report / document.hpp profkit / report /
    file_attempts.hpp profkit / report / findings.hpp profkit / report / first_screen.hpp profkit / report / fixed_numbers.hpp profkit /
    report / folded_scopes.hpp profkit / report / headline.hpp profkit / report / html_anchors.hpp profkit / report /
    html_axis.hpp profkit / report / html_bars.hpp profkit / report / html_cells.hpp profkit / report / html_changes.hpp profkit / report /
    html_heat.hpp profkit / report / html_icicle.hpp profkit / report / html_lanes.hpp profkit / report / html_limits.hpp profkit / report /
    html_lines.hpp profkit / report / html_page.hpp profkit / report / html_printer.hpp profkit / report / html_roofline.hpp profkit /
    report / html_script.hpp profkit / report / html_step_marks.hpp profkit / report / html_steps.hpp profkit / report /
    html_steps_histogram.hpp profkit / report / html_style.hpp profkit / report / html_table.hpp profkit / report / html_text.hpp profkit /
    report / idle_cause_names.hpp profkit / report / json_names.hpp profkit / report / json_printer.hpp profkit / report /
    json_schema.hpp profkit / report / json_text.hpp profkit / report / kernel_tables.hpp profkit / report / kernel_words.hpp profkit /
    report / kernels_section.hpp profkit / report / kind_findings.hpp profkit / report / listed_table.hpp profkit / report /
    loss_findings.hpp profkit / report / make_document.hpp profkit / report / make_report.hpp profkit / report /
    markdown_printer.hpp profkit / report / memory_findings.hpp profkit / report / memory_section.hpp profkit / report /
    memory_table.hpp profkit / report / nsys_csv.hpp profkit / report / number_format.hpp profkit / report / page_code.hpp profkit /
    report / parts_table.hpp profkit / report / picture_section.hpp profkit / report / plain_report.hpp profkit / report /
    quality_section.hpp profkit / report / quality_text.hpp profkit / report / ranks_document.hpp profkit / report /
    ranks_comparison.hpp profkit / report / ranks_details.hpp profkit / report / ranks_findings.hpp profkit / report /
    ranks_map_section.hpp profkit / report / ranks_json.hpp profkit / report / ranks_screen.hpp profkit / report /
    ranks_sections.hpp profkit / report / ranks_trace.hpp profkit / report / report.hpp profkit / report / report_code.hpp profkit /
    report / report_json.hpp profkit / report / report_kinds.hpp profkit / report / report_view.hpp profkit / report /
    scope_tables.hpp profkit / report / scopes_section.hpp profkit / report / section_blocks.hpp profkit / report /
    sentence_numbers.hpp profkit / report / short_names.hpp profkit / report / shown_ranks.hpp profkit / report / shown_text.hpp profkit /
    report / status_line.hpp profkit / report / step_details.hpp profkit / report / steps_section.hpp profkit / report /
    summary_file.hpp profkit / report / summary_content.hpp profkit / report / summary_json_writer.hpp profkit / report /
    text_bar.hpp profkit / report / text_head.hpp profkit / report / text_printer.hpp profkit / report / text_style.hpp profkit / report /
    text_table.hpp profkit / report / text_width.hpp profkit / report / trace_content.hpp profkit / report / trace_json.hpp profkit /
    report / trace_output.hpp profkit / report / trace_tracks.hpp profkit / report / trend_section.hpp profkit / report /
    trend_words.hpp profkit / report / utilization_section.hpp profkit / report / utilization_words.hpp profkit / report /
    verdict_text.hpp profkit / report / work_section.hpp profkit / report / work_words.hpp profkit / session / auto_stop.hpp profkit /
    session / closest_word.hpp profkit / session / console.hpp profkit / session / find_rank.hpp profkit / session /
    gpu_time_reader.hpp profkit / session / guarded_profile.hpp profkit / session / journal_feed.hpp profkit / session /
    kept_parts.hpp profkit / session / live_memory.hpp profkit / session / live_reports.hpp profkit / session / load_report.hpp profkit /
    session / make_loaded_report.hpp profkit / session / make_options.hpp profkit / session / make_session.hpp profkit / session /
    measure_loop.hpp profkit / session / missing_work.hpp profkit / session / other_recorders.hpp profkit / session / overhead.hpp profkit /
    session / options_code.hpp profkit / session / own_collectors.hpp profkit / session / owning_process.hpp profkit / session /
    plain_options.hpp profkit / session / process_path.hpp profkit / session / process_rank.hpp profkit / session /
    rank_options.hpp profkit / session / recorded_so_far.hpp profkit / session / recording_start.hpp profkit / session /
    session_impl.hpp profkit / session / session_factory.hpp profkit / session / session_counters.hpp profkit / session /
    session_ending.hpp profkit / session / session_exit.hpp profkit / session / session_journal.hpp profkit / session /
    session_outputs.hpp profkit / session / session_recording.hpp profkit / session / session_start.hpp profkit / session /
    session_thread.hpp profkit / session / snapshot_rounds.hpp profkit / session / window_border.hpp profkit / session /
    window_context.hpp profkit / session / window_stream.hpp)

    set(PROFKIT_PERFETTO_HEADERS profkit / perfetto.hpp profkit / report / pftrace.hpp profkit / report / pftrace_fields.hpp profkit /
        report / pftrace_format.hpp profkit / report / pftrace_output.hpp profkit / report / pftrace_sequence.hpp)

        set(PROFKIT_NCCL_HEADERS profkit / nccl.hpp profkit / collect / nccl_collectives.hpp profkit / collect /
            nccl_communicator.hpp profkit / collect / nccl_event.hpp profkit / collect / nccl_plugin.hpp)

            set(PROFKIT_CUDA_HEADERS profkit / cuda.hpp profkit / collect / cuda_calls.hpp profkit / collect / cuda_driver.hpp profkit /
                collect / cuda_environment.hpp profkit / collect / cuda_error.hpp profkit / collect / cuda_event_pair.hpp profkit /
                collect / cuda_gpu_clocks.hpp profkit / collect / cuda_gpu_scope.hpp profkit / collect / cuda_memory.hpp profkit / collect /
                cuda_step_timer.hpp profkit / collect / cuda_stream_calls.hpp profkit / collect / cuda_timing_log.hpp)

                set(PROFKIT_CUPTI_HEADERS profkit / cupti.hpp profkit / collect / cupti_allocations.hpp profkit / collect /
                    cupti_buffers.hpp profkit / collect / cupti_code.hpp profkit / collect / cupti_collection.hpp profkit / collect /
                    cupti_graph_nodes.hpp profkit / collect / cupti_kernels.hpp profkit / collect / cupti_launches.hpp profkit / collect /
                    cupti_library.hpp profkit / collect / cupti_options.hpp profkit / collect / cupti_placement.hpp profkit / collect /
                    cupti_records.hpp profkit / collect / cupti_tracing.hpp)
