# SPDX-License-Identifier: Apache-2.0
"""Compares results with bench/recorded.json. For ratios it has the rounds, which `profkit compare` compares; for other quantities the value
and the allowance."""
import bench_instructions
import bench_quantities
import bench_ratios

# The sections of a check without arguments: they take about a minute.
SECTIONS = ("scopes", "instructions", "memory")

# Allowed additional instructions, including those of the C library.
DEFAULT_ALLOWANCES = {"four_new_sites": 5, "new_thread": 2000}


# A ratio of these sections fails if it is larger by this limit with 95 % confidence. Other recorders change more between machines.
MOST_SLOWER = {"scopes": "20%", "nsys": "20%", "compile": "15%", "peers": "50%"}


def failures_of(results, recorded):
    """@return the quantities that are worse than recorded plus allowance. Quantities of unmeasured sections are skipped."""
    failures = []
    for name, (value, allowance) in recorded["quantities"].items():
        measured = bench_quantities.value_of(name, results)
        if measured is not None and measured > value + allowance:
            failures.append(f"{name}: {measured:.3f}, recorded is {value} (+ {allowance})")
    if "instructions" in results:
        found = results["instructions"]["found"]
        counts = recorded["instructions"].get(bench_instructions.main_version(found["compiler"]))
        if counts is not None:
            failures += bench_instructions.failures_of(found["counts"], counts)
    return failures


def compare_ratios(program, results, recorded):
    """@return lines to print, and whether a ratio is worse"""
    lines, is_worse = [], False
    for section, rounds in recorded["ratios"].items():
        more, fails = bench_ratios.compare(program, rounds, bench_quantities.ratio_rounds(section, results), MOST_SLOWER[section])
        lines += more
        is_worse = is_worse or fails
    return lines, is_worse


def report(program, results, recorded):
    """Prints the comparison.
    @param program the program profkit
    @return the exit code: 1 if a figure is worse, or if nothing was compared."""
    lines, is_worse = compare_ratios(program, results, recorded)
    for name, (value, allowance) in recorded["quantities"].items():
        measured = bench_quantities.value_of(name, results)
        if measured is not None:
            lines.append(f"{name:42} {measured:10.3f}   recorded {value} (+ {allowance})")
    for name, instructions in results.get("instructions", {"found": {"counts": {}}})["found"]["counts"].items():
        lines.append(f"{name + ', instructions':42} {instructions:10.2f}")
    failures = failures_of(results, recorded)
    if not lines:
        failures.append("nothing was measured")
    print("\n".join([*lines, *(f"FAIL {failure}" for failure in failures)]))
    return 1 if failures or is_worse else 0


def renewed(results, recorded):
    """@return the recorded values, updated with the new measurements. Allowances do not change."""
    quantities = {}
    for name, (value, allowance) in recorded["quantities"].items():
        measured = bench_quantities.value_of(name, results)
        quantities[name] = [value if measured is None else round(measured, 2), allowance]
    ratios = {}
    for section in MOST_SLOWER:
        measured = {name: [round(each, 4) for each in bench_ratios.some(rounds)]
                    for name, rounds in bench_quantities.ratio_rounds(section, results).items()}
        ratios[section] = recorded["ratios"].get(section, {}) | measured
    instructions = dict(recorded["instructions"])
    if "instructions" in results:
        found = results["instructions"]["found"]
        compiler = bench_instructions.main_version(found["compiler"])
        before = instructions.get(compiler, {})
        instructions[compiler] = {name: [round(count, 1), before.get(name, [0, DEFAULT_ALLOWANCES.get(name, 0)])[1]]
                                  for name, count in found["counts"].items() if name != "floor"}
    return {"instructions": instructions, "quantities": quantities, "ratios": ratios}
