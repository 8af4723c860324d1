#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a memory snapshot of LibTorch's CUDA allocator: it has the content that the viewer at https://pytorch.org/memory_viz reads, and
its figures are consistent. Prints the figures. If PyTorch is installed, its reader (torch.cuda._memory_viz) must also read the snapshot.
  usage: check_memory_snapshot.py FILE [--peak BYTES]"""

import argparse
import importlib.util
import json
import pathlib
import pickle
import pickletools
import sys

# The opcodes of the viewer's JavaScript unpickler (unpickle in torch/utils/viz/MemoryViz.js), by Python's names.
VIEWER_OPCODES = set("""APPEND APPENDS BINFLOAT BINGET BININT BININT1 BININT2 BINPUT BINUNICODE DICT EMPTY_DICT EMPTY_LIST EMPTY_TUPLE FRAME LIST
    LONG1 LONG_BINGET LONG_BINPUT MARK MEMOIZE NEWFALSE NEWTRUE NONE PROTO SETITEM SETITEMS SHORT_BINUNICODE STOP TUPLE TUPLE1 TUPLE2
    TUPLE3""".split())
# The viewer passes the elements of a list as arguments of one call; Safari accepts at most 65,536.
MAX_ELEMENTS = 65_536

SEGMENT = {"device": int, "address": int, "total_size": int, "allocated_size": int, "active_size": int, "requested_size": int, "stream": int,
           "segment_type": str, "is_expandable": bool, "frames": list, "blocks": list}
BLOCK = {"address": int, "size": int, "requested_size": int, "state": str, "frames": list}
EVENT = {"action": str, "size": int, "stream": int, "time_us": int}
STATES = {"active_allocated", "active_pending_free", "inactive"}
ACTIONS = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "snapshot", "oom"}
# Events of two threads can be out of order by this much, because processors' time-stamp counters differ.
SKEW_US = 100


class Refused(Exception):
    """The snapshot is not valid for the viewer."""


def require(holds, what):
    if not holds:
        raise Refused(what)


class PlainUnpickler(pickle.Unpickler):
    """Accepts containers, numbers and strings, but no class instances, like the viewer."""

    def find_class(self, module, name):
        raise Refused(f"it needs the class {module}.{name}")


def load(path):
    try:
        with open(path, "rb") as file:
            opcodes = {opcode.name for opcode, _, _ in pickletools.genops(file)}
            require(opcodes <= VIEWER_OPCODES, f"the viewer does not know {', '.join(sorted(opcodes - VIEWER_OPCODES))}")
            file.seek(0)
            return PlainUnpickler(file).load()
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError, UnicodeDecodeError) as error:
        raise Refused(f"it is not a pickle: {error}") from error


def require_fields(value, fields, what):
    require(isinstance(value, dict), f"{what} is not a dict")
    for name, kind in fields.items():
        require(name in value, f"{what} has no {name}")
        require(type(value[name]) is kind, f"{name} of {what} is {value[name]!r} and not of type {kind.__name__}")


def check_segment(segment, what):
    """Checks that the blocks are adjacent and fill the segment, and that their sums equal the segment's."""
    require_fields(segment, SEGMENT, what)
    require(segment["segment_type"] in ("small", "large"), f"{what} is of the type {segment['segment_type']!r}")
    end = segment["address"]
    sums = {"allocated_size": 0, "active_size": 0, "requested_size": 0}
    for number, block in enumerate(segment["blocks"]):
        name = f"block {number} of {what}"
        require_fields(block, BLOCK, name)
        require(block["state"] in STATES, f"{name} is in the state {block['state']!r}")
        require(block["address"] == end, f"{name} begins at {block['address']:#x}, and the one before it ends at {end:#x}")
        require(0 < block["size"], f"{name} has {block['size']} bytes")
        end += block["size"]
        if block["state"] == "inactive":
            continue
        require(block["requested_size"] <= block["size"], f"{name} has {block['size']} bytes for {block['requested_size']}")
        sums["allocated_size"] += block["size"] if block["state"] == "active_allocated" else 0
        sums["active_size"] += block["size"]
        sums["requested_size"] += block["requested_size"]
    require(end - segment["address"] == segment["total_size"],
            f"the blocks of {what} sum to {end - segment['address']} bytes, its total_size is {segment['total_size']}")
    for name, total in sums.items():
        require(total == segment[name], f"the blocks of {what} sum to {total} bytes, its {name} is {segment[name]}")


def check_trace(trace, what):
    """Checks that every event is consistent with the earlier ones. Allocations from before the trace are known only by their release.
    @return the requested bytes of live blocks (by address) and of blocks waiting for their release, and counts."""
    live, pending, known = {}, {}, set()
    counts = dict.fromkeys(ACTIONS, 0)
    latest = None
    for number, event in enumerate(trace):
        name = f"event {number} of {what}"
        require_fields(event, EVENT, name)
        action, size = event["action"], event["size"]
        require(action in ACTIONS, f"{name} is {action!r}")
        require_fields(event, {"device_free" if action == "oom" else "addr": int}, name)
        require(latest is None or event["time_us"] >= latest - SKEW_US, f"{name} is earlier than the one before it")
        latest = event["time_us"] if latest is None else max(latest, event["time_us"])
        counts[action] += 1
        if action not in ("alloc", "free_requested", "free_completed"):
            continue
        address = event["addr"]
        if action == "alloc":
            require(address not in live and address not in pending, f"{name} allocates {address:#x}, which is in use")
            live[address] = size
            known.add(address)
        elif action == "free_requested":
            require(address in live or address not in known, f"{name} releases {address:#x}, which is not in use")
            require(live.pop(address, size) == size, f"{name} releases {size} bytes, another number was allocated")
            pending[address] = size
            known.add(address)
        else:
            require(address in pending or address not in known, f"{name} ends a release that was not requested, of {address:#x}")
            require(pending.pop(address, size) == size, f"{name} ends the release of {size} bytes, of another number was requested")
            known.add(address)
    return live, pending, counts


def peak_of(trace, at_end):
    """@return the peak of requested bytes during the trace, computed backwards from the live blocks at its end."""
    now = highest = at_end
    for event in reversed(trace):
        if event["action"] == "alloc":
            now -= event["size"]
        elif event["action"] == "free_completed":
            now += event["size"]
        highest = max(highest, now)
    return highest


def check(snapshot):
    """@return the figures. Raises Refused with the reason."""
    require_fields(snapshot, {"segments": list, "device_traces": list, "allocator_settings": dict}, "the snapshot")
    require_fields(snapshot["allocator_settings"], {"expandable_segments": bool, "max_split_size": int}, "allocator_settings")
    segments, traces = snapshot["segments"], snapshot["device_traces"]
    require(segments, "there are no segments: nothing was allocated on a GPU")
    active = {}
    for number, segment in enumerate(segments):
        check_segment(segment, f"segment {number}")
        require(0 <= segment["device"] < len(traces), f"segment {number} is on device {segment['device']}, there are {len(traces)} traces")
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                active[segment["device"], block["address"]] = block
    ranges = sorted((segment["device"], segment["address"], segment["address"] + segment["total_size"]) for segment in segments)
    for one, other in zip(ranges, ranges[1:]):
        require(one[0] != other[0] or one[2] <= other[1], f"two segments overlap at {other[1]:#x}")

    require(any(traces), "there are no events: no history was recorded")
    counts = dict.fromkeys(ACTIONS, 0)
    peak = 0
    for device, trace in enumerate(traces):
        require(isinstance(trace, list), f"trace {device} is not a list")
        require(len(trace) <= MAX_ELEMENTS, f"trace {device} has {len(trace)} events, the viewer takes {MAX_ELEMENTS}")
        live, pending, of_device = check_trace(trace, f"trace {device}")
        for state, blocks in (("active_allocated", live), ("active_pending_free", pending)):
            for address, size in blocks.items():
                block = active.get((device, address))
                require(block is not None and block["state"] == state and block["requested_size"] == size,
                        f"{size} bytes at {address:#x} are {state} after trace {device}, and are not so in the segments")
        for action, count in of_device.items():
            counts[action] += count
        requested = sum(segment["requested_size"] for segment in segments if segment["device"] == device)
        peak = max(peak, peak_of(trace, requested))
    require(counts["alloc"] > 0 and counts["free_completed"] > 0, "there are no allocations, or no releases")

    times = [event["time_us"] for trace in traces for event in trace]
    return {
        "segments": len(segments),
        "reserved_bytes": sum(segment["total_size"] for segment in segments),
        "allocated_bytes": sum(segment["allocated_size"] for segment in segments),
        "requested_bytes": sum(segment["requested_size"] for segment in segments),
        "blocks": sum(len(segment["blocks"]) for segment in segments),
        "active_blocks": len(active),
        "events": len(times),
        **{action: counts[action] for action in ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "oom")},
        "peak_requested_bytes": peak,
        "covers_ms": (max(times) - min(times)) / 1e3,
    }


def read_with_pytorch(snapshot):
    """Runs the functions of `python -m torch.cuda._memory_viz`, some of which assert that sizes add up. @return False without PyTorch."""
    if importlib.util.find_spec("torch") is None:
        return False
    from torch.cuda import _memory_viz

    stats = _memory_viz.segsum(snapshot)
    require(f"segments: {len(snapshot['segments'])}" in stats, "_memory_viz.segsum counts other segments")
    listing = _memory_viz.trace(snapshot)
    for device, trace in enumerate(snapshot["device_traces"]):
        require(not trace or f"Device {device} -" in listing, f"_memory_viz.trace does not list trace {device}")
    flames = _memory_viz.memory(snapshot, format_flamegraph=lambda lines: lines)
    total = sum(int(line.rpartition(" ")[2]) for line in flames.splitlines())
    require(total == sum(segment["total_size"] for segment in snapshot["segments"]), f"_memory_viz.memory sums to {total} bytes")
    for kind, page in (("Active Memory Timeline", _memory_viz.trace_plot(snapshot)), ("Allocator State History", _memory_viz.segment_plot(snapshot))):
        require("<script" in page and kind in page, f"_memory_viz does not plot the {kind}")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--peak", type=int, metavar="BYTES", help="also: the trace reaches this peak of allocated bytes, within 10 %%")
    arguments = parser.parse_args()
    try:
        snapshot = load(arguments.file)
        figures = check(snapshot)
        if arguments.peak is not None:
            peak = figures["peak_requested_bytes"]
            # Requested bytes are slightly fewer than allocated bytes: sizes are rounded, and blocks not always split.
            require(0.9 * arguments.peak <= peak <= arguments.peak, f"the trace reaches {peak} bytes, expected {arguments.peak}")
        figures["read_by_pytorch"] = read_with_pytorch(snapshot)
    except (Refused, OSError, AssertionError) as error:
        print(f"{arguments.file}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
