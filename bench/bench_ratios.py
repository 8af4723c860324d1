# SPDX-License-Identifier: Apache-2.0
"""Compares ratios with recorded ones by `profkit compare`: each round is a run without steps, and each ratio is a scope."""
import json
import pathlib
import subprocess
import tempfile

MAX_ROUNDS = 21
# Both sides of a ratio run in the same round, so the speed of the machine hardly changes it.
NOISE = "5%"


def some(rounds):
    """@return at most MAX_ROUNDS of the rounds, evenly spaced."""
    count = min(len(rounds), MAX_ROUNDS)
    return [rounds[i * len(rounds) // count] for i in range(count)]


def path_of(name):
    """@return the name without the slash, which separates scopes."""
    return name.replace("/", "over")


def write_runs(folder, rounds):
    """@param rounds the ratio of each round by name; rounds that not all names have are left out."""
    for number, values in enumerate(zip(*(some(each) for each in rounds.values()))):
        scopes = [{"path": path_of(name), "name": path_of(name), "depth": 0, "count": 1, "host_total_ms": value, "host_mean_ms": value,
                   "host_self_ms": value} for name, value in zip(rounds, values)]
        (folder / f"{number:02}").mkdir(parents=True)
        (folder / f"{number:02}/report.json").write_text(json.dumps({"schema": 1, "covers": "session", "scopes": scopes}), encoding="utf-8")


def compare(program, recorded, measured, slower):
    """Compares the ratios that both sides have.
    @param slower the limit of --fail-if-slower
    @return lines to print, and whether a ratio is larger by that limit with 95 % confidence.
    @raises RuntimeError if `profkit compare` fails"""
    names = [name for name in recorded if name in measured]
    if not names:
        return [], False
    with tempfile.TemporaryDirectory() as place:
        sides = [pathlib.Path(place, side) for side in ("recorded", "measured")]
        for side, rounds in zip(sides, (recorded, measured)):
            write_runs(side, {name: rounds[name] for name in names})
        done = subprocess.run([str(program), "compare", *map(str, sides), "--fail-if-slower", slower, "--host-noise", NOISE, "--format", "json"],
                              capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"profkit compare: exit code {done.returncode}: {done.stderr.strip()}")
    rows = {row["name"]: row for row in json.loads(done.stdout)["rows"] if row["figure"] == "mean"}
    lines = []
    for name in names:
        row = rows[path_of(name)]
        low, high = (100 * end for end in row["range"])
        lines.append(f"{name:42} {row['b_ms']:10.3f}   recorded {row['a_ms']:.3f}: {100 * row['change']:+.1f} % "
                     f"({low:+.1f} to {high:+.1f} %) {row['verdict']}")
    if done.returncode == 1:
        lines.append(f"FAIL {done.stderr.strip()}")
    return lines, done.returncode == 1
