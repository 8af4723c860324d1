# SPDX-License-Identifier: Apache-2.0
"""Compares ratios with recorded ones by `profkit compare`: each round is a run without steps, and each ratio is a scope."""
import json
import pathlib
import subprocess
import tempfile

MAX_ROUNDS = 21  # in bench/recorded.json
MAX_COMPARED = 60
# Both sides of a ratio run in the same round, so the speed of the machine hardly changes it.
NOISE = "5%"
# Outcomes, which are also exit codes: those of `profkit compare`.
PASSED, WORSE, UNDECIDED = 0, 1, 3


def some(rounds, max_rounds=MAX_ROUNDS):
    """@return at most that many of the rounds, evenly spaced."""
    count = min(len(rounds), max_rounds)
    return [rounds[i * len(rounds) // count] for i in range(count)]


def path_of(name):
    """@return the name without the slash, which separates scopes."""
    return name.replace("/", "over")


def write_runs(folder, name, values):
    """@param values the ratio of each round"""
    scope = {"path": path_of(name), "name": path_of(name), "depth": 0, "count": 1}
    for number, value in enumerate(values):
        (folder / f"{number:02}").mkdir(parents=True)
        scope |= {"host_total_ms": value, "host_mean_ms": value, "host_self_ms": value}
        (folder / f"{number:02}/report.json").write_text(json.dumps({"schema": 1, "covers": "session", "scopes": [scope]}), encoding="utf-8")


def compare_one(program, name, recorded, measured, limit):
    """Compares the rounds of one ratio, so that a row neither hides in the sum of all rows nor behind the failure of another one.
    @return a line to print, and PASSED, WORSE or UNDECIDED
    @raises RuntimeError if `profkit compare` fails"""
    with tempfile.TemporaryDirectory() as place:
        sides = [pathlib.Path(place, side) for side in ("recorded", "measured")]
        for side, values in zip(sides, (recorded, measured)):
            write_runs(side, name, some(values, MAX_COMPARED))
        done = subprocess.run([str(program), "compare", *map(str, sides), "--fail-if-slower", limit, "--host-noise", NOISE, "--format", "json"],
                              capture_output=True, text=True, check=False)
    if done.returncode not in (PASSED, WORSE, UNDECIDED):
        raise RuntimeError(f"profkit compare: exit code {done.returncode}: {done.stderr.strip()}")
    row = next(row for row in json.loads(done.stdout)["rows"] if row["figure"] == "mean")
    low, high = (100 * end for end in row["range"])
    line = (f"{name:42} {row['b_ms']:10.3f}   recorded {row['a_ms']:.3f}: {100 * row['change']:+.1f} % "
            f"({low:+.1f} to {high:+.1f} %) {row['verdict']}")
    if done.returncode == WORSE:
        line += f"\nFAIL {done.stderr.strip()}"
    elif done.returncode == UNDECIDED:
        line += f"\nUNDECIDED {name}: these rounds do not show whether it is larger by {limit} or more"
    return line, done.returncode


def worst(codes):
    """@return WORSE if any is, else UNDECIDED if any is, else PASSED."""
    return next((code for code in (WORSE, UNDECIDED) if code in codes), PASSED)


def summary(code):
    """@return the last line of a check."""
    return {PASSED: "PASSED", WORSE: "FAILED: a figure is worse than recorded (exit code 1)",
            UNDECIDED: "UNDECIDED: a row above is neither passed nor failed (exit code 3). Measure again on an idle machine"}[code]


def compare(program, recorded, measured, limits):
    """Compares the ratios that were measured.
    @param limits the limit of --fail-if-slower by name
    @return lines to print, and the outcome: WORSE if a ratio is larger by its limit with 95 % confidence, UNDECIDED if the rounds do not show it"""
    lines, codes = [], []
    for name, values in measured.items():
        if name in recorded:
            line, code = compare_one(program, name, recorded[name], values, limits[name])
        else:
            line, code = f"UNDECIDED {name}: no recorded rounds", UNDECIDED
        lines.append(line)
        codes.append(code)
    return lines, worst(codes)
