# SPDX-License-Identifier: Apache-2.0
"""Memory timelines of synthetic histories. The values are read back from the coordinates by the ticks of the axes."""

import re
import subprocess
import sys
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"
MIB = 1 << 20
START = 1_700_000_000_000_000_000
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class Picture:
    """A memory timeline, read in its units: bytes, and ms since the step began."""

    def __init__(self, text):
        self.root = xml.etree.ElementTree.fromstring(text)
        (unit,) = re.findall(r"memory, (\wiB)", " ".join(self.texts()))
        self.ms_at = self.scale(self.group("x"), "x1", 1)
        self.bytes_at = self.scale(self.group("y"), "y1", UNITS[unit])

    @staticmethod
    def scale(axis, coordinate, unit):
        """The scale of an axis, from its ticks: lines have the positions, labels the values."""
        where = [float(line.get(coordinate)) for line in axis.iter(f"{SVG}line")]
        what = [float(label.text) for label in axis.iter(f"{SVG}text")]
        assert len(where) == len(what) >= 3, (where, what)
        per_pixel = (what[-1] - what[0]) / (where[-1] - where[0])
        for place, value in zip(where, what):
            assert abs(what[0] + (place - where[0]) * per_pixel - value) < 1e-3 * what[-1], f"the tick {value} is not where it belongs"
        step = what[1] - what[0]
        assert f"{step:.0e}"[0] in "125" and abs(step / float(f"{step:.0e}") - 1) < 1e-9, f"ticks at every {step} are not round"
        return lambda at: (what[0] + (at - where[0]) * per_pixel) * unit

    def element(self, name, kind):
        found = [each for each in self.root.iter(f"{SVG}{kind}") if each.get("id") == name]
        assert len(found) <= 1, f"{len(found)} elements are called {name}"
        return found[0] if found else None

    def group(self, name):
        return self.element(name, "g")

    def texts(self):
        return ["".join(each.itertext()) for each in self.root.iter(f"{SVG}text")]

    def line(self, name):
        points = [pair.split(",") for pair in self.element(name, "polyline").get("points").split()]
        return [(self.ms_at(float(x)), self.bytes_at(float(y))) for x, y in points]

    def peak(self):
        (circle,) = self.group("peak").iter(f"{SVG}circle")
        return self.ms_at(float(circle.get("cx"))), self.bytes_at(float(circle.get("cy")))

    def phases(self):
        """@return the interval of each phase by name."""
        result = {}
        for rectangle in self.group("phases").iter(f"{SVG}rect"):
            begin = float(rectangle.get("x"))
            name = rectangle.find(f"{SVG}title").text.partition(":")[0]
            result[name] = (self.ms_at(begin), self.ms_at(begin + float(rectangle.get("width"))), rectangle.get("fill"))
        return result

    def legend(self):
        return ["".join(each.itertext()) for each in self.group("legend").iter(f"{SVG}text")]


def draw(program, lines):
    done = subprocess.run([program, "memory_timeline"], input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def at(ms):
    return START + round(ms * 1e6)


def sample(ms, allocated_mib, reserved_mib=600):
    return f"sample {at(ms)} {round(allocated_mib * MIB)} {reserved_mib * MIB}"


def scope(begin, end, path):
    return f"scope {at(begin)} {at(end)} {path}"


def close(found, expected, tolerance, what):
    assert abs(found - expected) <= tolerance, f"{what}: {found}, expected {expected}"


def fails(check, *arguments):
    """@return whether the check fails."""
    try:
        check(*arguments)
    except AssertionError:
        return True
    return False


def check_line(picture, expected, name="allocated"):
    """Compares the corners (ms, MiB) of a step line."""
    line = picture.line(name)
    assert len(line) == len(expected), f"{name}: {len(line)} corners, expected {len(expected)}: {line}"
    for found, (ms, mib) in zip(line, expected):
        close(found[0], ms, 0.005, f"{name}, time")
        close(found[1] / MIB, mib, 0.005, f"{name}, MiB")


def check_peak(picture, ms, mib):
    found = picture.peak()
    close(found[0], ms, 0.005, "time of the peak")
    close(found[1] / MIB, mib, 0.005, "MiB of the peak")
    close(max(value for _, value in picture.line("allocated")) / MIB, mib, 0.005, "highest point of the line")
    label = next(text for text in picture.texts() if text.startswith("peak"))
    assert label == f"peak {mib:.1f} MiB at {ms:.3f} ms", label


def check_phases(picture, expected):
    found = picture.phases()
    assert list(found) == list(expected), f"phases {list(found)}, expected {list(expected)}"
    assert len({colour for *_, colour in found.values()}) == len(found), "two phases have the same colour"
    for name, (begin, end) in expected.items():
        close(found[name][0], begin, 0.01, f"beginning of {name}")
        close(found[name][1], end, 0.01, f"end of {name}")
        assert f"{name}, {end - begin:.3f} ms" in picture.legend(), f"{name} is not in the legend: {picture.legend()}"


PHASES = {"data": (0.1, 0.3), "forward": (0.4, 4), "backward": (4, 8.5), "optimizer": (8.5, 9.9)}
# An earlier step with a higher peak; then the step of interest: 100 MiB at its beginning, 450 at most.
TRAINING = [
    "title small <fast> & \"loud\", ctx 128, on 'GPU'",
    scope(-20, -10, "step"),
    *(scope(begin - 20, end - 20, f"step/{name}") for name, (begin, end) in PHASES.items()),
    scope(0, 10, "step"),
    *(scope(begin, end, f"step/{name}") for name, (begin, end) in PHASES.items()),
    scope(1, 2, "step/forward/layer_0"),
    scope(20, 30, "held-out loss"),
    sample(-15, 550),
    sample(-12, 100),
    sample(1, 200),
    sample(3, 300.5),
    sample(5, 450, 700),
    sample(6, 120, 700),
    sample(9, 100, 700),
    sample(25, 580, 700),
]


def check_training_step(program):
    text = draw(program, TRAINING)
    picture = Picture(text)
    line = [(0, 100), (1, 100), (1, 200), (3, 200), (3, 300.5), (5, 300.5), (5, 450), (6, 450), (6, 120), (9, 120), (9, 100), (10, 100)]
    check_line(picture, line)
    check_line(picture, [(0, 600), (5, 600), (5, 700), (10, 700)], "reserved")
    check_peak(picture, 5, 450)
    check_phases(picture, PHASES)
    assert "small <fast> & \"loud\", ctx 128, on 'GPU'" in picture.texts(), picture.texts()
    assert "GPU memory over one step" in picture.texts() and picture.group("failure") is None
    for name in ("forward", "backward"):
        assert name in picture.texts(), f"{name} has no label, and there is room for it"
    assert "data" not in picture.texts(), "a phase is labelled that is narrower than its label"

    # The checks reject another peak, a line that misses it, and a phase elsewhere.
    assert fails(check_peak, picture, 5, 451) and fails(check_peak, picture, 6, 450)
    (flattened, count) = re.subn(r'(<polyline id="allocated".* points=")[^"]*"', r'\g<1>90,540 1170,540"', text)
    assert count == 1 and fails(check_peak, Picture(flattened), 5, 450) and fails(check_line, Picture(flattened), line)
    assert fails(check_phases, picture, PHASES | {"backward": (4.5, 8.5)})


def check_forward_only(program):
    """Also checks GiB, no samples before the step, and the order of scopes in a profile."""
    gib = 1 << 10
    lines = [scope(0.01, 0.02, "step/data"), scope(0.02, 1.4, "step/forward"), scope(0, 1.5, "step")]
    lines += [sample(0.5, 3 * gib, 8 * gib), sample(0.7, 7.25 * gib, 8 * gib), sample(1.2, 2 * gib, 8 * gib)]
    picture = Picture(draw(program, lines))
    check_phases(picture, {"data": (0.01, 0.02), "forward": (0.02, 1.4)})
    found = picture.line("allocated")
    close(found[0][0], 0.5, 0.005, "where the line begins")
    close(max(value for _, value in found) / (gib * MIB), 7.25, 0.001, "highest point of the line, GiB")
    assert "peak 7.250 GiB at 0.700 ms" in picture.texts(), picture.texts()


def check_long_history(program):
    """200,000 samples, one of which is the peak for 10 ns."""
    lines = [scope(0, 100, "step")]
    lines += [sample(i / 2000, 100 + i % 7) for i in range(200_000)]
    peak = 123_457
    lines[1 + peak : 2 + peak] = [sample(peak / 2000, 500), sample(peak / 2000 + 1e-5, 100)]
    picture = Picture(draw(program, lines))
    count = len(picture.line("allocated"))
    assert count < 5000, f"{count} corners"
    assert "peak 500.0 MiB at 61.728 ms" in picture.texts(), picture.texts()
    highest = max(picture.line("allocated"), key=lambda corner: corner[1])
    close(highest[1] / MIB, 500, 0.005, "highest point of the line")
    close(highest[0], peak / 2000, 0.05, "where the line is highest")
    times = [ms for ms, _ in picture.line("allocated")]
    assert times == sorted(times), "the line goes back in time"
    others = {round(value / MIB) for _, value in picture.line("allocated")} - {500}
    assert others == set(range(100, 107)) and picture.line("allocated")[-1][0] > 99.9, others


def check_out_of_memory(program):
    """Out of memory: the abandoned step is shown."""
    lines = [scope(-20, -10, "step"), scope(0, 4, "step"), scope(0.5, 3.9, "step/forward")]
    lines += [sample(-15, 90), sample(1, 300), sample(2, 590), sample(3.5, 20), f"failure {at(3)} {24 * MIB}"]
    picture = Picture(draw(program, lines))
    check_peak(picture, 2, 590)
    (line,) = picture.group("failure").iter(f"{SVG}line")
    close(picture.ms_at(float(line.get("x1"))), 3, 0.005, "when memory ran out")
    assert "out of memory: 24.0 MiB more did not fit" in picture.texts(), picture.texts()

    # Out of memory before the first step: the whole recording is shown.
    setup = Picture(draw(program, [sample(0, 100), sample(1, 580), f"failure {at(2)} {64 * MIB}"]))
    check_peak(setup, 1, 580)
    check_line(setup, [(0, 100), (1, 100), (1, 580), (2, 580)])
    assert "GPU memory over the whole recording" in setup.texts() and not setup.phases()


def check_nothing_recorded(program):
    for lines in ([scope(0, 4, "step")], [], [f"failure {at(2)} {64 * MIB}"]):
        picture = Picture(draw(program, lines))
        assert "nothing was recorded" in picture.texts() and picture.element("allocated", "polyline") is None


def main():
    (program,) = sys.argv[1:]
    check_training_step(program)
    check_forward_only(program)
    check_long_history(program)
    check_out_of_memory(program)
    check_nothing_recorded(program)


if __name__ == "__main__":
    main()
