# SPDX-License-Identifier: Apache-2.0
"""What a GPU is asked to do: pages of unified memory, launch shapes, energy."""
from checks.nsys import find_ncu, launches_in_ncu, refusal_of_ncu
from checks.programs import Run, has_nsys, program_in, report_in, run_logged, run_under_nsys, table_of_nsys, train

MIB = 256
STEPS = 10
LOG = "pages_shapes_energy.log"
TO_DEVICE, TO_HOST = "[CUDA memcpy Unified Host-to-Device]", "[CUDA memcpy Unified Device-to-Host]"
# ncu's names of a shape, and ours.
NCU_SHAPE = {"launch__grid_size": "blocks", "launch__block_size": "threads", "launch__registers_per_thread": "registers"}
NCU_OCCUPANCY, NCU_WAVES = "sm__maximum_warps_per_active_cycle_pct", "launch__waves_per_multiprocessor"


def reason_of(report, collector):
    return next((each["reason"] for each in report["quality"]["collectors"] if each["name"] == collector), "no collector") or ""


def managed_command(place):
    return [program_in(place.build, "profkit_gpu_programs"), "managed_pages", str(MIB), str(STEPS)]


def managed(place, name, options):
    folder = place.out / f"managed-{name}"
    run_logged(managed_command(place), place.out / LOG, f"out={folder}{options}")
    return report_in(folder)


def kernel_of(report, part):
    return next((each for each in report["kernels"] if part in each["name"]), None)


def check_pages(checks, with_pages, without):
    pages = with_pages["unified_memory"]
    if pages is None:
        checks.add("pages of unified memory", False, reason_of(with_pages, "unified memory"))
        return
    places = {(each["kernel"] or "", each["path"] or ""): each for each in pages["places"]}
    reader = next((each for (kernel, path), each in places.items() if "add_up" in kernel and path == "step/read on the device"), None)
    moved = reader["bytes_to_device"] / STEPS / 2**20 if reader else 0.0
    kernel = kernel_of(with_pages, "add_up")
    waits = reader["waiting_ms"] / STEPS if reader else 0.0
    # The records have 54 to 83 % of the bytes on an H100; never more than all of them.
    checks.add("pages migrate to the device in the kernel that reads them", reader is not None and 0.3 * MIB <= moved <= 1.02 * MIB and reader["device_faults"] > 0,
               f"{moved:.0f} of {MIB} MiB a step, waits {waits:.1f} of {kernel['mean_us'] / 1e3:.1f} ms")
    checks.add("a kernel does not wait longer than it runs", 0.0 < waits <= 1.001 * kernel["mean_us"] / 1e3, f"{waits:.2f} ms of {kernel['mean_us'] / 1e3:.2f} ms")
    faults = [each for each in pages["places"] if each["host_faults"] > 0]
    where = sum(each["host_faults"] for each in faults if each["path"] == "step/write on the host")
    all_faults = sum(each["host_faults"] for each in faults)
    names = sorted({f"{each['function']} ({each['file']}:{each['line']})" for each in faults})
    checks.add("faults of the host are in the scope that writes", all_faults > 0 and where >= 0.99 * all_faults, f"{where} of {all_faults}; {', '.join(names)[:200]}")
    operations = {each["name"]: each for each in pages["operations"]}
    checks.add("migrations are rows of the copies", TO_DEVICE in operations and TO_HOST in operations,
               "; ".join(f"{name}: {each['count']}, {each['bytes'] / 2**20:.0f} MiB, {each['total_ms']:.1f} ms" for name, each in operations.items()))
    plain = kernel_of(without, "add_up")
    checks.add("without the option nothing is recorded; what the counters cost", without["unified_memory"] is None,
               f"kernel {plain['mean_us'] / 1e3:.1f} ms without, {kernel['mean_us'] / 1e3:.1f} ms with; step {without['steps']['mean_ms']:.1f} and "
               f"{with_pages['steps']['mean_ms']:.1f} ms")


def check_pages_of_nsys(checks, place, with_pages):
    """Two runs of the program: their numbers of pages differ, and so do those of two runs under one tool."""
    name = "migrations are those of Nsight Systems, per step"
    if not has_nsys(place):
        checks.add(name, None, "no nsys")
        return
    folder = place.out / "managed-nsys"
    run_under_nsys(place, managed_command(place), folder, LOG, "off", ["--cuda-um-gpu-page-faults=true", "--cuda-um-cpu-page-faults=true"])
    tables = [{row["Operation"]: row for row in table_of_nsys(place, folder, f"cuda_gpu_mem_{of}_sum", LOG)} for of in ("time", "size")]
    ours = {each["name"]: each for each in with_pages["unified_memory"]["operations"]}
    steps = {TO_DEVICE: STEPS + 1, TO_HOST: STEPS}  # with warm-up, whose pages are new for the host
    right, figures = True, []
    for operation, count in steps.items():
        time, size = (table[operation] for table in tables)
        theirs = [int(time["Count"]) / count, float(time["Total Time (ns)"]) / 1e6 / count, float(size["Total (MB)"]) / count]
        per_step = [ours[operation]["count"] / STEPS, ours[operation]["total_ms"] / STEPS, ours[operation]["bytes"] / 1e6 / STEPS]
        right = right and all(abs(a / b - 1.0) <= 0.25 for a, b in zip(per_step, theirs))
        figures.append(f"{operation}: {', '.join(f'{a:,.1f} and {b:,.1f} {unit}' for a, b, unit in zip(per_step, theirs, ('records', 'ms', 'MB')))}")
    checks.add(name, right, f"{'; '.join(figures)} (bar 25 %)")


def check_shapes_of_ncu(checks, place):
    """The shapes of all launches of one step in ncu, and those that the report shows: the median and the worst of each kernel."""
    name = "theoretical occupancy and waves are those of Nsight Compute"
    ncu = find_ncu()
    if ncu is None:
        checks.add(name, None, "no ncu")
        return
    folder = place.out / "shapes-ncu"
    folder.mkdir(parents=True, exist_ok=True)
    options = Run("tiny", 128, "train", "bf16").options(0, 1)
    report, _ = train(place, options, folder / "alone", LOG)
    log = folder / "ncu.csv"
    words = [ncu, "--metrics", ",".join([*NCU_SHAPE, NCU_OCCUPANCY, NCU_WAVES]), "--clock-control", "none", "--print-kernel-base", "mangled",
             "--print-units", "base", "--csv", "--log-file", log, program_in(place.build, "transformer_train"), *options, "--out", folder / "under"]
    failure = ""
    try:
        run_logged(words, place.out / LOG, "kernels=off")
    except RuntimeError as error:
        failure = str(error)
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    refusal = refusal_of_ncu([*text.splitlines(), failure])
    if refusal is not None:
        checks.add(name, None, refusal[:300])
        return
    launches = launches_in_ncu(text)
    of_shape = {(each["kernel"], *(int(each[metric]) for metric in NCU_SHAPE)): each for each in launches}
    compared, different, missing = 0, [], []
    for kernel in report["kernels"]:
        for launch in (kernel["median_launch"], kernel["worst_launch"]):
            theirs = of_shape.get((kernel["mangled"] or kernel["name"], *(launch[field] for field in NCU_SHAPE.values())))
            if theirs is None:
                missing.append(kernel["name"][:60])
                continue
            compared += 1
            if abs(100.0 * launch["occupancy"] - theirs[NCU_OCCUPANCY]) > 0.01 or abs(launch["waves"] - theirs[NCU_WAVES]) > 0.006:  # printed with two digits
                different.append(f"{kernel['name'][:60]}: {100.0 * launch['occupancy']:.2f} %, {launch['waves']:.3f} waves; ncu "
                                 f"{theirs[NCU_OCCUPANCY]:.2f} %, {theirs[NCU_WAVES]:.3f}")
    checks.add(name, compared > 0 and not different and not missing and not failure,
               f"{compared} shapes of {len(report['kernels'])} kernels, {len(launches)} launches; different {len(different)}, not launched under ncu "
               f"{len(missing)}{''.join(f'; {each}' for each in [*different, *missing][:3])} {failure[-200:]}")


def check_shapes(checks, report, trained):
    few = kernel_of(report, "busy")["median_launch"]
    sms = few["multiprocessors"] if few else 0
    checks.add("12 blocks of 64 threads are 12 blocks of 64 threads", few is not None and (few["blocks"], few["threads"]) == (12, 64) and 0 < few["waves"] < 1 and sms > 12,
               f"{few}")
    shapes = [each["median_launch"] for each in trained["kernels"]]
    known = [each for each in shapes if each]
    sane = all(0 < each["occupancy"] <= 1 and each["waves"] > 0 and 0 < each["last_wave"] <= 1 and each["blocks_per_multiprocessor"] > 0 for each in known)
    longest = "; ".join(f"{kernel['name'][:40]}: {kernel['median_launch']['blocks']} blocks, {100 * kernel['median_launch']['occupancy']:.1f} %, "
                        f"{kernel['median_launch']['waves']:.2f} waves" for kernel in trained["kernels"][:5] if kernel["median_launch"])
    checks.add("each kernel of the trainer has a shape", len(known) == len(shapes) and sane, longest)


def check_energy(checks, place):
    mean = {}
    for kind in ("idle", "arithmetic"):
        folder = place.out / f"energy-{kind}"
        run_logged([program_in(place.build, "profkit_gpu_programs"), "steady_load", kind, "5"], place.out / LOG, f"energy,out={folder}")
        report = report_in(folder)
        meters = {each["meter"]: each for each in report.get("energy") or []}
        gpu = next((each for name, each in meters.items() if name.startswith("GPU")), None)
        if gpu is None:
            checks.add(f"energy of a GPU: {kind}", False, reason_of(report, "energy"))
            continue
        mean[kind] = gpu["mean_watt"]
        steps = gpu["steps"] >= 0.9 * report["steps"]["measured"]
        # NVML takes some ms to answer, and profkit asks for at most 1 % of the time.
        right = abs(gpu["joules"] - gpu["mean_watt"] * gpu["covered_ms"] / 1e3) < 0.01 * gpu["joules"]
        checks.add(f"energy of a GPU: {kind}", steps and right and 1.0 <= gpu["resolution_ms"] <= 500.0,
                   "; ".join(f"{name}: {each['joules_per_step']:.3g} J a step, {each['mean_watt']:.0f} W, changes every {each['resolution_ms']:.1f} ms"
                             for name, each in meters.items()))
    if len(mean) == 2:
        checks.add("a busy GPU takes more power than an idle one", mean["arithmetic"] > 1.5 * mean["idle"], f"{mean['arithmetic']:.0f} W and {mean['idle']:.0f} W")


def check_pages_shapes_energy(checks, place):
    """Unified memory, launch shapes and energy, on a real device."""
    with_pages, without = managed(place, "on", ",unified_memory"), managed(place, "off", "")
    with checks.failure_as_row("pages of unified memory"):
        check_pages(checks, with_pages, without)
    with checks.failure_as_row("pages of unified memory, Nsight Systems"):
        check_pages_of_nsys(checks, place, with_pages)
    with checks.failure_as_row("energy"):
        check_energy(checks, place)
    with checks.failure_as_row("launch shapes"):
        run = Run("small", 512, "train", "bf16")
        trained, _ = train(place, run.options(5, 30), place.out / f"shapes-{run.folder}", LOG, "energy")
        check_shapes(checks, without, trained)
        energy = trained.get("energy") or []
        checks.add("energy of the trainer", bool(energy) and all(each["joules_per_item"] for each in energy),
                   "; ".join(f"{each['meter']}: {each['joules_per_step']:.3g} J a step, {1e3 * each['joules_per_item']:.3g} mJ per item" for each in energy))
    with checks.failure_as_row("launch shapes, Nsight Compute"):
        check_shapes_of_ncu(checks, place)
