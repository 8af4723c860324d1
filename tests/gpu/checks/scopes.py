# SPDX-License-Identifier: Apache-2.0
"""Checks of where the time of a step goes: the budget, the backward pass by forward scope, CUDA graphs by the scopes of their capture."""
import re
import sqlite3
import statistics
import subprocess

import nsys_parity
from checks.programs import PyTorch, Run, has_nsys, loop_ms, program_in, run_logged, train, train_under_nsys

SMALL = Run("small", 128, "train", "fp32")
WARMUP, STEPS, ALTERNATIONS = 5, 30, 7
BUDGET_BAR, BUSY_BAR, CHARGED_BAR, BRIDGE_BAR = 0.005, 0.02, 0.999, 3.0
# Scopes of a layer that contain little except matrix products: two in the backward pass for each in the forward pass.
MATMUL_SCOPES = ("attention projections", "ffn projections", "output projection", "ffn output projection", "lm_head")
MATMUL_RATIO = (1.7, 2.3)
NAMED = ("gradient accumulation", "backward of unknown forward")
GRAPH_BAR, GRAPH_SCOPE_BAR, GRAPH_SPEED_BAR = 0.05, 0.05, 1.6
# Shorter scopes are a few kernels of some microseconds, whose times differ from run to run. Runs with options are shown but not judged: in
# eager mode their GPU idles between kernels, and some kernels then take a little longer.
SMALLEST_SCOPE = 0.002


def section_of(folder, *titles):
    """@return the sections of report.md by heading."""
    text = (folder / "report.md").read_text(encoding="utf-8")
    return "\n".join(re.search(rf"^## {re.escape(title)}$.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[0].strip() + "\n" for title in titles)


def busy_by_nsys(database, warmup):
    """@return the milliseconds in which any operation ran inside the measured steps, and the time of these steps."""
    database = sqlite3.connect(database)
    steps = sorted((each.begin, each.end) for each in nsys_parity.read_ranges(database) if each.name == "step")[warmup:]
    tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    wanted = [f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET") if f"CUPTI_ACTIVITY_KIND_{kind}" in tables]
    operations = database.execute(" UNION ALL ".join(wanted) + " ORDER BY start").fetchall()
    busy, covered = 0, 0
    for begin, end in operations:
        begin = max(begin, covered)
        if end > begin:
            busy += sum(max(0, min(end, last) - max(begin, first)) for first, last in steps)
            covered = end
    return busy / 1e6, sum(last - first for first, last in steps) / 1e6


def check_budget(checks, place):
    folder = place.out / "budget"
    report, printed = train(place, SMALL.options(WARMUP, STEPS), folder, "budget.log", "report=full")
    budget = report["budget"]
    total = sum(part["total_ms"] for part in budget["parts"])
    off = abs(total - report["steps"]["mean_ms"] * STEPS) / budget["wall_ms"]
    parts = ", ".join(f"{part['part']} {100 * part['share']:.1f} %" for part in budget["parts"])
    checks.add(f"the parts of a step add up to its wall time within {100 * BUDGET_BAR:g} %: {SMALL.name}", off <= BUDGET_BAR, f"off by {100 * off:.4f} %: {parts}")
    said = re.search(r"^.*; the GPU idles .* of the step\.$", printed, re.MULTILINE)
    waits = re.search(r"^What the GPU waits for\n\n.*\n(.*)$", printed, re.MULTILINE)
    checks.add(f"a line says that the GPU idles, and a table which scopes it waits for: {SMALL.name}", said is not None and waits is not None,
               f"{said[0]} First: {waits[1]}" if said and waits else "no such line or no such table")
    (place.out / "budget.md").write_text(section_of(folder, "Where the step went"), encoding="utf-8")
    if not has_nsys(place):
        checks.add("as busy as Nsight Systems says", None, "no nsys")
        return
    _, _, database = train_under_nsys(place, SMALL.options(WARMUP, STEPS), folder.with_name("budget-nsys"), "budget.log", profkit="kernels=off")
    busy, wall = busy_by_nsys(database, WARMUP)
    off = abs(busy - budget["gpu_busy_ms"]) / busy
    checks.add(f"the GPU is as busy as Nsight Systems says, within {100 * BUSY_BAR:g} %: {SMALL.name}", off <= BUSY_BAR,
               f"{budget['gpu_busy_ms'] / STEPS:.3f} ms a step of {budget['wall_ms'] / STEPS:.3f}, under nsys {busy / STEPS:.3f} of {wall / STEPS:.3f}: {100 * off:.2f} % off")
    for file in database.parent.glob("nsys.*"):
        file.unlink()


def kernel_ms(report, path):
    return next((each["gpu_kernel_ms"] or 0.0 for each in report["scopes"] if each["path"] == path), 0.0)


def backward_of(report, scope):
    """@return the kernel time of the scopes that work for scopes with this name."""
    return sum(each["gpu_self_ms"] or 0.0 for each in report["scopes"]
               if each["path"].startswith("step/backward/") and re.search(rf"(^|/){re.escape(scope)} \(backward\)$", each["name"]))


def check_backward(checks, place):
    """Work of autograd threads by the scopes of the forward pass."""
    shown = []
    for run in (SMALL, Run("small", 512, "train", "fp32"), Run("medium", 512, "fwd_bwd", "bf16")):
        folder = place.out / f"backward-{run.folder}"
        report, printed = train(place, run.options(3, 10), folder, "backward.log")
        inside = [each for each in report["scopes"] if each["path"].startswith("step/backward/")]
        adopted = sum(each["gpu_self_ms"] or 0.0 for each in inside if each["name"].endswith("(backward)"))
        named = {name: sum(each["gpu_self_ms"] or 0.0 for each in inside if each["name"] == name) for name in NAMED}
        whole = kernel_ms(report, "step/backward") + report["quality"]["unattributed_ms"]
        charged = (adopted + named[NAMED[0]]) / whole
        checks.add(f"backward kernels are charged to forward scopes or named, at least {100 * CHARGED_BAR:g} % of their time: {run.name}",
                   charged >= CHARGED_BAR and named[NAMED[1]] == 0.0,
                   f"{100 * charged:.3f} % of {whole / 10:.3f} ms a step: to forward scopes {100 * adopted / whole:.3f} %, " +
                   ", ".join(f"{name} {100 * ms / whole:.3f} %" for name, ms in named.items()) + f"; outside scopes {report['quality']['unattributed_ms']:.3f} ms")
        names = {each["name"]: each["gpu_kernel_ms"] for each in report["names"]}
        ratios = {name: backward_of(report, name) / names[name] for name in MATMUL_SCOPES if names.get(name)}
        forward = sum(names.get(name) or 0.0 for name in MATMUL_SCOPES)
        ratio = sum(backward_of(report, name) for name in MATMUL_SCOPES) / forward
        checks.add(f"scopes of matrix products take about twice as long backward, {MATMUL_RATIO[0]} to {MATMUL_RATIO[1]} times: {run.name}",
                   MATMUL_RATIO[0] <= ratio <= MATMUL_RATIO[1] and len(ratios) == len(MATMUL_SCOPES),
                   f"{ratio:.2f} times: " + ", ".join(f"{name} {each:.2f}" for name, each in ratios.items()))
        tables = (folder / "tables.md").read_text(encoding="utf-8")
        table = re.search(r"^## T14\..*?(?=^## |\Z)", tables, re.MULTILINE | re.DOTALL)
        shown.append(f"## {run.name}, 3 warm-up steps, 10 measured\n\n" + (table[0].split("\n", 1)[1].strip() if table else "no T14") + "\n")
    (place.out / "backward.md").write_text("# T14. Backward by forward scope\n\n" + "\n".join(shown), encoding="utf-8")
    printed = run_logged([program_in(place.build, "bridge_cost")], place.out / "backward.log", "")
    cost = float(re.search(r"^the bridge: .* adds (-?[\d.]+) %", printed, re.MULTILINE)[1])
    checks.add(f"the bridge costs less than {BRIDGE_BAR:g} %: {SMALL.name}", cost < BRIDGE_BAR, "; ".join(printed.strip().splitlines()))
    with open(place.out / "backward.md", "a", encoding="utf-8") as file:
        file.write(f"\n## Cost\n\n{SMALL.name}, scopes recorded:\n\n" + "".join(f"* {line}\n" for line in printed.strip().splitlines()))


def check_graph(checks, place):
    """A captured step runs the same kernels as an eager one, is charged to the same scopes, and leaves the GPU no gaps."""
    done = subprocess.run([str(program_in(place.build, "torch_checks")), "step_graph"], capture_output=True, text=True, check=False, timeout=300)
    (place.out / "step_graph.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    checks.add("every step of a graph has the loss of the eager step: all modes and precisions", done.returncode == 0,
               f"exit code {done.returncode}: {(done.stdout.strip() or done.stderr.strip() or 'no difference')[-300:]}")
    lines = ["# CUDA graphs", ""]
    for run, options in ((SMALL, []), (Run("small", 256, "train", "bf16"), ["--attention", "sdpa", "--clip-grad", "1"]), (Run("small", 512, "fwd", "fp32"), [])):
        name = " ".join((run.name, *options))
        arguments = [*run.options(WARMUP, STEPS), *options]
        eager, eager_printed = train(place, arguments, place.out / "graph-eager", "graph.log")
        report, printed = train(place, [*arguments, "--graph"], place.out / "graph", "graph.log")
        quality = report["quality"]
        clean = quality["unknown_graph_operations"] == quality["unattributed_operations"] == quality["dropped_kernels"] == 0
        checks.add(f"every operation of a graph is charged to the scope of its capture: {name}", clean and quality["graph_operations"] > 0,
                   f"{quality['graph_operations']} operations of graphs in {STEPS} steps, unknown {quality['unknown_graph_operations']}, outside scopes {quality['unattributed_operations']}")
        ours = {each["path"]: each for each in report["scopes"]}
        whole = eager["gpu"]["gpu_kernel_ms"]
        rows, worst, missing = [], 0.0, []
        for each in eager["scopes"]:
            if each["gpu_kernel_ms"] < SMALLEST_SCOPE * whole or each["path"] in ("step", "step/data"):
                continue
            if each["path"] not in ours:
                missing.append(each["path"])
                continue
            mine = ours[each["path"]]["gpu_kernel_ms"]
            worst = max(worst, abs(mine / each["gpu_kernel_ms"] - 1))
            rows.append(f"| {each['path']} | {each['kernels'] // STEPS} | {ours[each['path']]['kernels'] // STEPS} | {each['gpu_kernel_ms'] / STEPS:.3f} | {mine / STEPS:.3f} |")
        checks.add(f"the kernel time of each scope in a graph is that of eager steps within {100 * GRAPH_SCOPE_BAR:g} %: {name}",
                   None if options and rows and not missing else bool(rows) and not missing and worst <= GRAPH_SCOPE_BAR, f"{len(rows)} scopes, worst {100 * worst:.2f} %, not there: {missing or 'none'}; "
                   f"{eager['gpu']['kernels'] // STEPS} kernels a step, in the graph {report['gpu']['kernels'] // STEPS}")
        losses = [re.search(r"^loss, nats per token: (.*)$", text, re.MULTILINE)[1] for text in (eager_printed, printed)]
        first, second = ([float(number) for number in re.findall(r"\d+\.\d+", text)] for text in losses)
        checks.add(f"a graph learns as eager steps do: {name}", len(first) == len(second) and all(abs(a - b) < 2e-3 * a for a, b in zip(first, second)), " / ".join(losses))
        lines += [f"## {name}: eager, and as a graph", "", f"{WARMUP} warm-up steps, {STEPS} measured; per step; scopes with at least {100 * SMALLEST_SCOPE:g} % of the kernel time.", "",
                  "| scope | kernels | kernels in the graph | kernel ms | kernel ms in the graph |", "|---|---:|---:|---:|---:|", *rows, ""]
        if run == SMALL:
            step, busy = report["steps"]["gpu_mean_ms"], report["gpu"]["gpu_busy_ms"] / STEPS
            checks.add(f"a graph's step is within {100 * GRAPH_BAR:g} % of its GPU busy time: {name}", step <= (1 + GRAPH_BAR) * busy,
                       f"step {step:.3f} ms, GPU busy {busy:.3f} ms: {100 * (step / busy - 1):+.2f} %; eager {eager['steps']['gpu_mean_ms']:.3f} ms, busy "
                       f"{eager['gpu']['gpu_busy_ms'] / STEPS:.3f} ms")
            lines += [section_of(place.out / "graph", "Where the step went").replace("## ", "### "), ""]
    fused = ["--optimizer", "fused_adamw"]
    ours, graph, theirs = [], [], []
    with PyTorch([*SMALL.options(WARMUP, STEPS), *fused], place.out / "graph.log") as pytorch:
        for _ in range(ALTERNATIONS):
            theirs.append(pytorch.measure()["loop_ms"])
            graph.append(loop_ms(train(place, [*SMALL.options(WARMUP, STEPS), *fused, "--graph"], place.out / "graph-speed", "graph.log", "off")[1]))
            ours.append(loop_ms(train(place, [*SMALL.options(WARMUP, STEPS), *fused], place.out / "graph-speed", "graph.log", "off")[1]))
    mine, eager, other = map(statistics.median, (graph, ours, theirs))
    figures = f"graph {mine:.3f} ms a step ({min(graph):.3f} to {max(graph):.3f}), eager {eager:.3f}, PyTorch eager {other:.3f} ({min(theirs):.3f} to {max(theirs):.3f})"
    checks.add(f"a graph is at least {GRAPH_SPEED_BAR} times as fast as PyTorch eager with fused AdamW: {SMALL.name}", other / mine >= GRAPH_SPEED_BAR,
               f"{other / mine:.2f} times; {figures}; medians of {ALTERNATIONS} turns, no profiler")
    lines += ["## Speed", "", f"{SMALL.name}, fused AdamW on both sides, no profiler, medians of {ALTERNATIONS} turns: {figures}.", ""]
    (place.out / "graph.md").write_text("\n".join(lines), encoding="utf-8")
