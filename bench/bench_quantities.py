# SPDX-License-Identifier: Apache-2.0
"""The quantities of the results: one number per quantity of a section, with its target if it has one."""
import statistics


def ratios(found, name, reference):
    """@return the ratio in each round."""
    return [a / b for a, b in zip(found["ns"][name], found["ns"][reference])]


def differences(found, name, base):
    return [a - b for a, b in zip(found["ns"][name], found["ns"][base])]


class Median:
    """@return the median of the values that `values` reads from the results of a section."""

    def __init__(self, values, is_ratio=True):
        self.values = values
        self.is_ratio = is_ratio

    def __call__(self, found):
        return statistics.median(self.values(found))


def median_ratio(name, reference):
    return Median(lambda found: ratios(found, name, reference))


def peer_ratios(found, name, reference, figure):
    """@return the ratio of two recorders in each round of bench_peers."""
    return [a / b for a, b in zip(found["rounds"][name][figure], found["rounds"][reference][figure])]


def median_peer_ratio(name, reference, figure):
    return Median(lambda found: peer_ratios(found, name, reference, figure))


def compile_differences(found, name):
    return [a - b for a, b in zip(found[name]["ms"], found["empty"]["ms"])]


def compile_ratios(found, name, reference):
    return [a / b for a, b in zip(found[name]["ms"], found[reference]["ms"])]


def less_clock(found, name):
    """@return the median minus the time of a clock reading."""
    return statistics.median(found["ns"][name]) - statistics.median(found["ns"]["clock"])


# Quantity: its section, and a function that reads it from the results.
QUANTITIES = {
    "scope / floor": ("scopes", median_ratio("on", "floor")),
    "indexed scope / floor": ("scopes", median_ratio("on_indexed", "floor")),
    "nested scope / floor": ("scopes", median_ratio("on_nested", "floor")),
    "scope on 2 threads / on 1": ("scopes", median_ratio("on_two_threads", "on")),
    "off, ns": ("scopes", lambda found: statistics.median(found["ns"]["off"])),
    "off - empty loop, ns": ("scopes", Median(lambda found: differences(found, "off", "empty"), is_ratio=False)),
    "scope under nsys / NVTX range": ("nsys", median_ratio("scope", "nvtx")),
    "scope under nsys, recorded / NVTX range": ("nsys", median_ratio("scope_in_session", "nvtx_in_session")),
    "log bytes of a scope": ("memory", lambda found: found["log_bytes"]),
    "dropped while drained": ("memory", lambda found: found["with_pauses"]["dropped"]),
    "dropped of 8 million": ("memory", lambda found: found["many_scopes"]["dropped"]),
    "peak memory with 8 million scopes, MB": ("memory", lambda found: found["many_scopes"]["peak_bytes"] / 1e6),
    "peers: profkit / floor": ("peers", median_peer_ratio("profkit", "floor", "one")),
    "peers: profkit / LTTng-UST": ("peers", median_peer_ratio("profkit", "lttng", "one")),
    "peers: profkit / LTTng-UST, 2 threads": ("peers", median_peer_ratio("profkit", "lttng", "two")),
    "peers: profkit / LTTng-UST, off": ("peers", median_peer_ratio("profkit, off", "lttng, off", "one")),
    "peers: profkit / LTTng-UST, first scope": ("peers", median_peer_ratio("profkit", "lttng", "first")),
    "peers: profkit / NVTX under nsys": ("peers", median_peer_ratio("profkit", "nsys", "one")),
    "peers: profkit / NVTX without a tool, off": ("peers", median_peer_ratio("profkit, off", "nvtx, off", "one")),
    "peers: profkit's lost scopes": ("peers", lambda found: found["rounds"]["profkit"]["lost"]),
    "new thread, us": ("first_use", lambda found: less_clock(found, "new_thread") / 1000),
    "thread with a used log, us": ("first_use", lambda found: less_clock(found, "reused_log") / 1000),
    "new site, us": ("first_use", lambda found: less_clock(found, "new_site") / 1000),
    "scope.hpp, ms over an empty file": ("compile", lambda found: statistics.median(compile_differences(found, "scope.hpp"))),
    "object of one scope, bytes": ("compile", lambda found: found["scope.hpp, one scope"]["object_bytes"]),
    "main.cpp / (nvtx3.hpp + fmt/format.h)":
        ("compile", Median(lambda found: compile_ratios(found, "main.cpp", "nvtx3.hpp and fmt/format.h"))),
}


def value_of(name, results):
    """@return the value, or None if it was not measured."""
    section, read = QUANTITIES[name]
    if section not in results:
        return None
    try:
        return read(results[section]["found"])
    except KeyError:
        return None


def ratio_rounds(section, results):
    """@return the measured ratios of a section by name: one for each round."""
    found = {}
    for name, (section_of_quantity, read) in QUANTITIES.items():
        if section_of_quantity == section and section in results and isinstance(read, Median) and read.is_ratio:
            try:
                found[name] = read.values(results[section]["found"])
            except KeyError:
                continue
    return found


# Description, quantity, maximum and format.
TARGETS = [
    ("`PROF_SCOPE`, recording: ratio to the floor", "scope / floor", 1.15, "{:.2f}"),
    ("`PROF_SCOPE`, recording: 2 threads / 1 thread, per thread", "scope on 2 threads / on 1", 1.15, "{:.2f}"),
    ("`PROF_SCOPE`, off, ns (loop included)", "off, ns", 1.0, "{:.2f}"),
    ("under nsys: ratio to a registered NVTX range", "scope under nsys / NVTX range", 1.05, "{:.2f}"),
    ("log memory per scope, bytes", "log bytes of a scope", 24, "{:.1f}"),
    ("scopes dropped while draining a busy thread", "dropped while drained", 0, "{:.0f}"),
    ("peak memory of a process with 8 million scopes on one thread, `records=1000000`, MB", "peak memory with 8 million scopes, MB", 64, "{:.0f}"),
    ("scopes dropped of these", "dropped of 8 million", 0, "{:.0f}"),
    ("first scope of a new thread, us", "new thread, us", 5, "{:.1f}"),
    ("first scope of a site, us", "new site, us", 5, "{:.2f}"),
    ("compile time of `scope.hpp` above an empty file, ms", "scope.hpp, ms over an empty file", 60, "{:.0f}"),
    ("object size of a file with one scope, bytes", "object of one scope, bytes", 4096, "{:.0f}"),
    ("compile time of a `main.cpp` with a session and a report, linked with `profkit::profkit`: ratio to `nvtx3.hpp` + `fmt/format.h`",
     "main.cpp / (nvtx3.hpp + fmt/format.h)", 1.0, "{:.2f}"),
]
