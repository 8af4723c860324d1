# SPDX-License-Identifier: Apache-2.0
"""GPU utilization from hardware counters, for loads with known utilization and for the trainer."""
from checks.programs import Run, program_in, report_in, run_logged, train

SHARES = ("busy", "sm_active", "sm_occupancy", "tensor", "tensor_fp64", "tensor_float", "tensor_integer", "fp64", "fp32", "fp16", "integer", "dram",
          "memory_active")
RATES = ("nvlink_receive", "nvlink_send", "pcie_receive", "pcie_send")
WITH_COUNTERS = "GPM counters"
# An H200 counts up to 5 % for tensor pipes in an fp32 loop without tensor instructions.
STRAY_TENSOR = 0.1


def use_of(report):
    """@return the only device; None and the reason if it was not measured."""
    devices = report.get("utilization") or []
    why = next((each["reason"] for each in report["quality"]["collectors"] if each["name"] == "gpu utilization"), "no collector")
    return (devices[0], "") if len(devices) == 1 else (None, f"{len(devices)} devices; {why}")


def words(use):
    shares = [f"{name} {100 * use[f'{name}_mean']:.1f} %" for name in SHARES if use[f"{name}_mean"] is not None]
    rates = [f"{name} {use[f'{name}_mean_gb_per_s']:.3f} GB/s" for name in RATES if use[f"{name}_mean_gb_per_s"] is not None]
    return f"{use['windows']} windows, {use['covered_ms'] / 1e3:.1f} s, {use['source']}: " + ", ".join(shares + rates)


def is_sane(use, at_least_s):
    """Minimum, mean and maximum are in order, and no share exceeds 100 % by more than rounding."""
    kinds = [(name, "", 1.001) for name in SHARES] + [(name, "_gb_per_s", 2000.0) for name in RATES]
    values = [[use[f"{name}_{figure}{unit}"] for figure in ("min", "mean", "max")] + [most] for name, unit, most in kinds]
    in_order = all(low is None or (0 <= low <= mean * 1.0001 and mean <= high * 1.0001 and high <= most) for low, mean, high, most in values)
    return in_order and use["covered_ms"] >= 1e3 * at_least_s and use["covered_ms"] >= 1e3 * use["windows"]


def check_utilization(checks, place):
    """Idle, arithmetic and memory loads are recognised; the trainer uses tensor pipes in bf16, and other pipes in fp32."""
    expected = {
        "idle": ("nothing runs", lambda use: use["busy_mean"] < 0.05 and (use["sm_active_mean"] or 0.0) < 0.05),
        "arithmetic": ("SMs and fp32, and no memory", lambda use: use["sm_active_mean"] > 0.8 and use["fp32_mean"] > 0.3 and
                       use["dram_mean"] < 0.1 and use["tensor_mean"] < STRAY_TENSOR),
        "memory": ("memory, and little arithmetic", lambda use: use["dram_mean"] > 0.6 and use["fp32_mean"] < 0.3 and use["tensor_mean"] < STRAY_TENSOR),
    }
    for kind, (what, is_right) in expected.items():
        folder = place.out / f"utilization-{kind}"
        run_logged([program_in(place.build, "profkit_gpu_programs"), "steady_load", kind, "3"], place.out / "utilization.log",
                   f"utilization=on,out={folder}")
        use, why = use_of(report_in(folder))
        passed = use is not None and is_sane(use, 1.0) and (is_right(use) if use["source"] == WITH_COUNTERS or kind == "idle" else use["busy_mean"] > 0.8)
        checks.add(f"the counters of a GPU say what it does: {kind} ({what})", passed, words(use) if use else why)
    for run, steps, is_right in (
            (Run("small", 512, "fwd", "fp32"), 400, lambda use: use["sm_active_mean"] > 0.3 and use["fp32_mean"] > 0.1 and use["tensor_mean"] < STRAY_TENSOR),
            (Run("medium", 512, "train", "bf16"), 130, lambda use: use["sm_active_mean"] > 0.3 and use["tensor_mean"] > 0.03)):
        report, _ = train(place, run.options(5, steps), place.out / f"utilization-{run.folder}", "utilization.log", "utilization=on")
        use, why = use_of(report)
        passed = use is not None and is_sane(use, 1.0) and (use["source"] != WITH_COUNTERS or is_right(use))
        mfu = (report["model"] or {}).get("mfu")
        checks.add(f"the counters of a GPU under the trainer: {run.name}", passed,
                   (words(use) if use else why) + f"; {steps} steps of {report['steps']['gpu_mean_ms']:.2f} ms" +
                   (f", MFU {100 * mfu:.1f} %" if mfu is not None else ""))
