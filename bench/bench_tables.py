# SPDX-License-Identifier: Apache-2.0
"""Formats results as Markdown tables, and inserts them into pages of docs between `<!-- table: NAME -->` and `<!-- end -->`.

usage: bench_tables.py      renews the tables from the committed results"""
import json
import pathlib
import re
import statistics
import textwrap

import bench_statistics
from bench_quantities import TARGETS, compile_differences, differences, peer_ratios, ratios, value_of

SCOPES = [("empty", "empty loop"), ("off", "`PROF_SCOPE`, no session"), ("off_indexed", "`PROF_SCOPE_INDEXED`, no session"),
          ("nvtx_no_tool", "`NVTX3_FUNC_RANGE_IN`, no tool"), ("two_readings", "two `rdtsc`"), ("floor", "**floor**"),
          ("on", "`PROF_SCOPE`, recording"), ("on_nested", "`PROF_SCOPE`, recording, 4 nested"), ("on_indexed", "`PROF_SCOPE_INDEXED`, recording"),
          ("on_named", "`named_scope`, eight names, recording"), ("on_beside", "`PROF_SCOPE`, while the session drains it"),
          ("floor_two_threads", "floor, 2 threads, each"), ("on_two_threads", "`PROF_SCOPE`, 2 threads, each"),
          ("floor_first_written", "floor, untouched memory"), ("on_first_written", "`PROF_SCOPE`, untouched log")]
FLOOR_OF = {"on_beside": "floor_beside", "floor_two_threads": "floor", "on_two_threads": "floor_two_threads", "floor_first_written": "floor",
            "on_first_written": "floor_first_written"}
COUNTS = [("floor", "floor"), ("off", "off"), ("off_indexed", "off, indexed"), ("on", "recording"), ("on_nested", "recording, 4 nested"),
          ("on_indexed", "recording, indexed"), ("four_new_sites", "first scope of a site"), ("new_thread", "first scope of a thread")]
# Variant, description, and the variant that is the denominator of the ratio.
NSYS = [("nvtx", "`NVTX3_FUNC_RANGE_IN`", None), ("nvtx_payload", "C interface, registered name, payload", "nvtx"),
        ("scope", "`PROF_SCOPE`, no session", "nvtx"), ("nvtx_in_session", "`NVTX3_FUNC_RANGE_IN`, in a session", None),
        ("nvtx_payload_in_session", "C interface, in a session", "nvtx_in_session"),
        ("scope_in_session", "`PROF_SCOPE`, recorded as well", "nvtx_in_session")]
FIRST = [("new_thread", "first scope of a thread, new log"), ("new_thread_second", "second scope"), ("reused_log", "first scope of a thread, reused log"),
         ("reused_log_second", "second scope"), ("new_site", "first scope of a site"), ("new_site_second", "second scope"), ("clock", "clock reading (included in all rows)")]


# Rows of the comparison with other recorders: recording, off, and description.
PEERS = [("floor", None, "floor"), ("profkit", "profkit, off", "**profkit**, `PROF_SCOPE`"), ("spall", None, "spall, into a file"),
         ("tracy", "tracy, off", "Tracy, no server"), ("tracy, server", "tracy, off", "Tracy, with its server"),
         ("perfetto", "perfetto, off", "Perfetto SDK, in process"),
         ("caliper", "caliper, off", "Caliper, event trace"), ("lttng", "lttng, off", "LTTng-UST, two tracepoints"),
         ("nsys", "nvtx, off", "NVTX under nsys; off: no tool")]
HEADER_OF = {"nsys": "nvtx", "tracy, server": "tracy"}

# Quantity, its name in gpu_bench.py, and target.
GPU = [("`PROF_GPU_SCOPE`: host time / two bare `cudaEventRecord`", "PROF_GPU_SCOPE / two event records", 1.1),
       ("a launch: added by kernel collection / added by CUPTI's kernel records",
        "added per launch: profkit / CUPTI kernel records", 1.1),
       ("a step: added by kernel collection / added by Kineto (CUDA) to the same step",
        "added per step: profkit kernels / Kineto (CUDA)", 0.5),
       ("a node of a replayed graph: added by collection / added by CUPTI's records",
        "added per graph node: profkit / CUPTI kernel records", 1.1),
       ("a step with `kernels=every:10` / scopes alone", "typical step: kernels=every:10 / scopes only", 1.01)]

# Rows of the table of GPU recorders: on launches, the same launches without it, and on steps.
GPU_RECORDERS = [("nothing", "nothing", "nothing", "trainer, no profiler"),
                 ("profkit, scopes", "profkit scopes", "nothing", "trainer, profkit scopes"),
                 ("**profkit**, scopes and kernels", "profkit scopes and kernels", "nothing", "trainer, profkit kernels"),
                 ("CUPTI alone, kernel records", "CUPTI kernel records", "nothing", "trainer, CUPTI kernel records"),
                 ("Kineto, CUDA", "Kineto CUDA records", "nothing, with LibTorch", "trainer, Kineto CUDA"),
                 ("Kineto, CPU and CUDA", None, None, "trainer, Kineto CPU and CUDA"),
                 ("Nsight Systems, `-t cuda`", "nsys, CUDA", "nothing", "trainer, nsys CUDA")]

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "docs/overhead.md", ROOT / "docs/results/bench/host.md"]
HOST_RESULTS = ROOT / "docs/results/bench/host.json"
GPU_RESULTS = [ROOT / "docs/results/h200" / name for name in ("gpu_bench_quieter_host.json", "gpu_bench.json")]


def gpu_runs():
    """@return the committed runs of gpu_bench.py; the last is the newest."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in GPU_RESULTS]


def gpu_comparisons(runs, *names):
    """@return the comparison of each run that has it."""
    return [each for run in runs for part in run["parts"].values() for each in part["comparisons"] if each["name"] in names]


def gpu_ratios(runs, *names):
    return [each["ratio"] for each in gpu_comparisons(runs, *names)]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def spread(values, form="{:.2f}"):
    """Median and quartiles."""
    low, middle, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    return [form.format(middle), f"{form.format(low)} to {form.format(high)}"]


def scopes(found):
    rows = []
    for name, words in SCOPES:
        if name not in found["ns"]:
            continue
        row = [words, *spread(found["ns"][name]), f"{min(found['ns'][name]):.2f}"]
        base = FLOOR_OF.get(name, "floor")
        row += spread(ratios(found, name, base)) if name not in ("empty", "off", "off_indexed", "nvtx_no_tool", "floor") else ["", ""]
        rows.append(row)
    off = spread(differences(found, "off", "empty"))
    rows.insert(2, ["`PROF_SCOPE`, no session, minus the empty loop", *off, f"{min(differences(found, 'off', 'empty')):.2f}", "", ""])
    return table(["ns", "median", "quartiles", "min", "ratio to its floor: median", "quartiles"], rows)


def instructions(found):
    counts = found["counts"]
    return table([f"instructions per scope, {found['compiler']} -O2", "", "over the floor"],
                 [[words, f"{counts[name]:.0f}", f"{counts[name] - counts['floor']:+.0f}" if name.startswith("on") else ""]
                  for name, words in COUNTS if name in counts])


def nsys(found):
    return table([f"ns, {found['version'].replace('NVIDIA ', '')}", "median", "quartiles", "ratio to `NVTX3_FUNC_RANGE_IN`: median", "quartiles"],
                 [[words, *spread(found["ns"][name], "{:.0f}"), *(spread(ratios(found, name, base)) if base else ["", ""])] for name, words, base in NSYS])


def memory(found):
    rows = [["log, per scope", f"{found['log_bytes']:.1f} bytes"], ["log, per indexed scope", f"{found['indexed_log_bytes']:.1f} bytes"],
            ["process growth, per scope not drained yet", f"{found['resident_bytes']:.1f} bytes"]]
    for name, words in (("with_pauses", "bursts of 10,000 scopes with pauses of 5 ms"), ("without_pause", "without a pause")):
        each = found[name]
        rows.append([f"drained while written, {words}: scopes per second", f"{each['scopes_per_s'] / 1e6:.1f} million"])
        rows.append(["in the profile; dropped", f"{each['in_profile']:,}; {each['dropped']:,}"])
        rows.append(["processor time per scope: writer; drain", f"{each['writer_ns']:.0f} ns; {each['reader_ns']:.0f} ns"])
    many = found.get("many_scopes")
    if many:
        rows.append([f"{many['opened']:,} scopes on one thread, without a pause or a step, `records={many['max_records']}`: peak memory of the process",
                     f"{many['peak_bytes'] / 1e6:.0f} MB"])
        rows.append(["dropped", f"{many['dropped']:,}"])
    return table(["", ""], rows)


def first_use(found):
    text = table(["ns", "median", "quartiles", "min"],
                 [[words, *spread(found["ns"][name], "{:,.0f}"), f"{min(found['ns'][name]):,.0f}"] for name, words in FIRST])
    calls = found.get("system_calls")
    if calls:
        text += f"\n\nSystem calls of a new thread's first scope: {', '.join(calls['first']) or 'none'}; of its second: {', '.join(calls['second']) or 'none'}."
    return text


def compile_time(found):
    rows = []
    for name, each in found.items():
        over = spread(compile_differences(found, name), "{:.0f}") if name != "empty" else ["", ""]
        rows.append([f"`{name}`" if name.endswith("pp") else name, *spread(each["ms"], "{:.0f}"), *over, f"{each['object_bytes']:,}"])
    return table(["ms of processor time, -O2 -c", "median", "quartiles", "above an empty file: median", "quartiles", "object, bytes"], rows)


def projects(found):
    rows = []
    for programs, each in found.items():
        once, all_of_them = each["profkit::profkit"], each["profkit::headers"]
        rows.append([programs, *(f"{statistics.median(build['s']):.1f}" for build in (once, all_of_them)),
                     *(f"{build['bytes'] / 1e6:.1f}" for build in (once, all_of_them))])
    head = ["programs", "`profkit::profkit`, s", "`profkit::headers`, s", "`profkit::profkit`, MB", "`profkit::headers`, MB"]
    return table(head, rows)


def plain(found):
    """Table of the figures of a program that names them."""
    rows = [[name.replace("_", " "), f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)]
            for name, value in found.items() if not isinstance(value, (dict, list))]
    return table(["", ""], rows)


def trace(found):
    rows = [[each["format"], each["profile"], f"{each['events_per_second'] / 1e6:.1f}", f"{each['bytes_per_scope']:.1f}", f"{each['bytes_per_event']:.1f}"]
            for each in found["trace_cost"]]
    return table(["format", "content", "million events/s", "bytes per scope", "bytes per event"], rows)


MAX_OFF_INSTRUCTIONS = 5


def targets(results):
    rows = []
    for words, name, target, form in TARGETS:
        value = value_of(name, results)
        verdict = "" if value is None else "met" if float(form.format(value)) <= target else "missed"
        rows.append([words, f"at most {target:,}", "n/a" if value is None else form.format(value), verdict])
    counts = results.get("instructions", {}).get("found", {}).get("counts")
    if counts:
        rows.insert(3, ["off, instructions for begin and end", f"at most {MAX_OFF_INSTRUCTIONS}", f"{counts['off']:.0f}",
                        "met" if counts["off"] <= MAX_OFF_INSTRUCTIONS else "missed"])
    rows += gpu_targets(gpu_runs())
    rows.append(["device synchronisations added to a step", "0", "0, by a test", "met"])
    return table(["what", "target", "measured", ""], rows)


def gpu_targets(runs):
    """The verdict comes from the interval of each run. Runs whose rounds are not recorded have the verdict of the median, which says so."""
    rows = []
    for words, name, target in GPU:
        found = gpu_comparisons(runs, name)
        verdicts = [gpu_verdict(each, target) for each in found]
        verdict = " and ".join(verdicts if len(set(verdicts)) > 1 else verdicts[:1])
        rows.append([words, f"at most {target:g}", " and ".join(gpu_ratio_cell(each) for each in found) or "n/a", verdict])
    return rows


def gpu_verdict(comparison, target):
    if comparison.get("low") is not None:
        return bench_statistics.verdict(comparison["low"], comparison["high"], target)
    return "met (median)" if comparison["ratio"] <= target else "missed (median)"


def gpu_ratio_cell(comparison):
    if comparison.get("low") is None:
        return f"{comparison['ratio']:.2f}"
    return f"{comparison['ratio']:.2f} ({bench_statistics.interval_text(comparison['low'], comparison['high'])})"


def added(figures, name, base):
    """@return what a recorder adds in each round; empty if it was not measured."""
    values, less = (figures.get(each, {}).get("values", []) for each in (name, base))
    return [a - b for a, b in zip(values, less)]


def added_cells(figures, name, base, cupti, form):
    """@param cupti what CUPTI's kernel records alone add in each round
    @return the time, the addition, its ratio to CUPTI's with interval, and the number of rounds; "n/a" for what was not measured, and for ratios
    of too few rounds."""
    def cell(values):
        return form.format(statistics.median(values)) if values else "n/a"
    values = figures.get(name, {}).get("values", [])
    now = [cell(values)]
    if name == base:
        return now + [""] * 3 + [f"{len(values)}" if values else "n/a"]
    ours = added(figures, name, base)
    found = bench_statistics.with_interval(ours, cupti)
    ratio = ["1.00", ""] if ours and ours == cupti else ["n/a", "n/a"] if found is None or found.low is None else [f"{found.ratio:.2f}", bench_statistics.interval_text(found.low, found.high)]
    return now + [cell(ours), *ratio, f"{len(ours)}" if ours else "n/a"]


def gpu_recorders(run):
    """What each recorder adds to a launch and to a step, in one run of gpu_bench.py."""
    launch, step = (run["parts"].get(part, {}).get("figures", {}) for part in ("launch", "step"))
    added_per_launch = added(launch, "CUPTI kernel records", "nothing")
    added_per_step = added(step, "trainer, CUPTI kernel records", "trainer, no profiler")
    rows = []
    for words, on_launch, base, on_step in GPU_RECORDERS:
        cells = added_cells(launch, on_launch, base, added_per_launch, "{:,.0f}") if on_launch else [""] * 5
        rows.append([words, *cells, *added_cells(step, on_step, "trainer, no profiler", added_per_step, "{:.2f}")])
    head = ["added", "/ CUPTI's", "95 % interval", "rounds"]
    return table(["", "ns a launch", *head, "ms a step", *head], rows)


def ratio_cells(found, name, figure, reference):
    """@return median and quartiles of the ratio in each round; empty for the row itself and for rows that were not measured."""
    rounds = found["rounds"]
    if name == reference or name not in rounds or reference not in rounds:
        return ["", ""]
    return spread(peer_ratios(found, name, reference, figure))


def not_run(found, name):
    reason = found.get("missing", {}).get(name)
    return "not run" + (f": {reason.split(':')[0]}" if reason else "")


def peers(found):
    """A recorder that did not run has a row with the reason."""
    rows = []
    rounds = found["rounds"]
    for name, off, words in PEERS:
        if name in rounds:
            off_ns = spread(rounds[off]["one"])[0] if off in rounds else ""
            rows.append([words, spread(rounds[name]["one"], "{:.1f}")[0], *ratio_cells(found, name, "one", "floor"), ratio_cells(found, name, "one", "profkit")[0],
                         spread(rounds[name]["two"], "{:.1f}")[0], ratio_cells(found, name, "two", "floor")[0], off_ns])
        else:
            rows.append([words, not_run(found, name), *[""] * 6])
    return table(["one scope, ns", "recording", "/ floor", "quartiles", "/ profkit", "2 threads, each", "/ floor", "off"], rows)


def peers_more(found):
    """A recorder that did not run has a row with the reason."""
    rows = []
    for name, _, words in PEERS:
        each = found["rounds"].get(name)
        if each is None:
            rows.append([words, not_run(found, name), *[""] * 7])
            continue
        header = found["include"].get(HEADER_OF.get(name, name))
        cost = ["", "", ""]
        if header is not None:
            ms = compile_differences(found["include"], HEADER_OF.get(name, name))
            cost = [*spread(ms, "{:.0f}"), f"{header['object_bytes'] - found['include']['empty']['object_bytes']:,}"]
        written = f"{each['log_bytes']:.1f}" if "log_bytes" in each else f"{each['disk']:.1f} on disk" if "disk" in each else ""
        lost = f"{each['lost']:,} of {each['opened'] / 1e6:.1f} million" if "lost" in each else ""
        rows.append([words, written, spread(each["grown"], "{:.1f}")[0], lost, *spread([ns / 1000 for ns in each["first"]], "{:.1f}"), *cost])
    head = ["bytes of a scope", "growth of the process", "lost", "first scope of a thread, us", "quartiles", "include, ms", "quartiles", "object, bytes"]
    return table(["", *head], rows)


def machines(results):
    """Machines and dates of the sections."""
    lines = {}
    for name, each in results.items():
        at = each["machine"]
        words = f"{at['cpus']} x {at['cpu']}, Linux {at['kernel']}, clocksource {at['clocksource']}, {at['compiler']}"
        lines.setdefault(words, []).append((name.replace("_", " "), each["date"], each["load"]))
    text = []
    for words, sections in lines.items():
        line = f"{words}: " + ", ".join(f"{name} ({date}, load {load})" for name, date, load in sections) + "."
        text.append(textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False))
    return "\n\n".join(text)


OF_SECTION = {"scopes": scopes, "instructions": instructions, "nsys": nsys, "memory": memory, "first_use": first_use,
              "compile": compile_time, "projects": projects, "analysis": plain, "trace": trace, "peers": peers}


def tables_of(results):
    made = {name: make(results[name]["found"]) for name, make in OF_SECTION.items() if name in results}
    made["targets"] = targets(results)
    made["gpu_recorders"] = gpu_recorders(gpu_runs()[-1])
    if "peers" in results:
        made["peers_more"] = peers_more(results["peers"]["found"])
    made["machines"] = machines(results)
    return made


def all_tables(results):
    return "\n\n".join(f"{name}\n\n{text}" for name, text in tables_of(results).items())


def with_tables(document, tables):
    """The document with its tables replaced."""
    def put(mark):
        text = tables.get(mark[1])
        return mark[0] if text is None else f"<!-- table: {mark[1]} -->\n{text}\n<!-- end -->"
    return re.sub(r"<!-- table: (\w+) -->\n.*?<!-- end -->", put, document, flags=re.DOTALL)


def renew(file, results):
    file.write_text(with_tables(file.read_text(), tables_of(results)))


def packed_json(results):
    """JSON with each list of numbers on one line."""
    text = json.dumps(results, indent=1)
    return re.sub(r"\[\s*(-?[\d.e+-]+(?:,\s*-?[\d.e+-]+)*)\s*\]", lambda found: "[" + re.sub(r",\s+", ",", found[1]) + "]", text) + "\n"


def main():
    for document in DOCUMENTS:
        renew(document, json.loads(HOST_RESULTS.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
