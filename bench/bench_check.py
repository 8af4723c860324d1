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


# A ratio of these sections fails if it is larger by this limit with 95 % confidence. Other recorders change more between machines; the floor
# is code of this repository.
LIMITS = {"scopes": "20%", "nsys": "20%", "compile": "15%", "peers": "50%"}
LIMITS_OF_ROWS = {"peers: profkit / floor": "15%"}

# Why the recorded allowances are what they are:
# * peak memory: 64 to 116 MB in 9 runs, depending on when the session's thread gets a processor. The value
#   is that of docs/results/bench/host.json; value and allowance add up to the maximum of the 9 runs.
# * off - empty loop: the sum is below half of the target of 1.0 ns.
# * new thread, new site: about half of the value. scope.hpp: the value again, because it is an absolute time, and machines differ.
# * object of one scope: up to the target of 4,096 bytes, because compilers differ.


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
    """@return lines to print, and the outcome: see bench_ratios"""
    lines, codes = [], []
    for section, limit in LIMITS.items():
        measured = bench_quantities.ratio_rounds(section, results)
        limits = {name: LIMITS_OF_ROWS.get(name, limit) for name in measured}
        more, code = bench_ratios.compare(program, recorded["ratios"].get(section, {}), measured, limits)
        lines += more
        codes.append(code)
    return lines, bench_ratios.worst(codes)


def report(program, results, recorded):
    """Prints the comparison. The last line is the outcome.
    @param program the program profkit
    @return the exit code: 1 if a figure is worse, or if nothing was compared; else 3 if a ratio is undecided."""
    lines, code = compare_ratios(program, results, recorded)
    for name, (value, allowance) in recorded["quantities"].items():
        measured = bench_quantities.value_of(name, results)
        if measured is not None:
            lines.append(f"{name:42} {measured:10.3f}   recorded {value} (+ {allowance})")
    for name, instructions in results.get("instructions", {"found": {"counts": {}}})["found"]["counts"].items():
        lines.append(f"{name + ', instructions':42} {instructions:10.2f}")
    failures = failures_of(results, recorded)
    if not lines:
        failures.append("nothing was measured")
    code = bench_ratios.WORSE if failures else code
    print("\n".join([*lines, *(f"FAIL {failure}" for failure in failures), bench_ratios.summary(code)]))
    return code


def renewed(results, recorded):
    """@return the recorded values, updated with the new measurements. Allowances do not change."""
    quantities = {}
    for name, (value, allowance) in recorded["quantities"].items():
        measured = bench_quantities.value_of(name, results)
        quantities[name] = [value if measured is None else round(measured, 2), allowance]
    ratios = {}
    for section in LIMITS:
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
