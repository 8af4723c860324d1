# SPDX-License-Identifier: Apache-2.0
"""Compares results with bench/recorded.json, which has the value and the allowance of each quantity. For medians of rounds it also has the
quartiles."""
import bench_instructions
import bench_quantities

# The sections of a check without arguments: they take about a minute.
SECTIONS = ("scopes", "instructions", "memory")

# Allowed additional instructions, including those of the C library.
DEFAULT_ALLOWANCES = {"four_new_sites": 5, "new_thread": 2000}


def failures_of(results, recorded):
    """@return the quantities that are worse than recorded plus allowance. Quantities of unmeasured sections are skipped."""
    failures = []
    for name, (value, allowance, *_) in recorded["quantities"].items():
        measured = bench_quantities.value_of(name, results)
        if measured is not None and measured > value + allowance:
            failures.append(f"{name}: {measured:.3f}, recorded is {value} (+ {allowance})")
    if "instructions" in results:
        found = results["instructions"]["found"]
        counts = recorded["instructions"].get(bench_instructions.main_version(found["compiler"]))
        if counts is not None:
            failures += bench_instructions.failures_of(found["counts"], counts)
    return failures


def words(interval):
    return f" [{interval[0]:.3g} to {interval[1]:.3g}]" if interval else ""


def report(results, recorded):
    """Prints the comparison. @return the exit code: 1 if a figure is worse, or if nothing was compared."""
    compared = 0
    for name, (value, allowance, *interval) in recorded["quantities"].items():
        measured = bench_quantities.value_of(name, results)
        if measured is not None:
            compared += 1
            found = bench_quantities.interval_of(name, results)
            print(f"{name:42} {measured:10.3f}{words(found)}   recorded {value}{words(interval)} (+ {allowance})")
    for name, instructions in results.get("instructions", {"found": {"counts": {}}})["found"]["counts"].items():
        compared += 1
        print(f"{name + ', instructions':42} {instructions:10.2f}")
    failures = failures_of(results, recorded)
    for failure in failures:
        print(f"FAIL {failure}")
    if compared == 0:
        print("FAIL nothing was measured")
    return 1 if failures or compared == 0 else 0


def renewed(results, recorded):
    """@return the recorded values, updated with the new measurements. Allowances do not change."""
    quantities = {}
    for name, (value, allowance, *interval) in recorded["quantities"].items():
        measured = bench_quantities.value_of(name, results)
        if measured is not None:
            value, interval = round(measured, 2), bench_quantities.interval_of(name, results) or ()
        quantities[name] = [value, allowance, *(round(each, 2) for each in interval)]
    instructions = dict(recorded["instructions"])
    if "instructions" in results:
        found = results["instructions"]["found"]
        compiler = bench_instructions.main_version(found["compiler"])
        before = instructions.get(compiler, {})
        instructions[compiler] = {name: [round(count, 1), before.get(name, [0, DEFAULT_ALLOWANCES.get(name, 0)])[1]]
                                  for name, count in found["counts"].items() if name != "floor"}
    return {"instructions": instructions, "quantities": quantities}
