# SPDX-License-Identifier: Apache-2.0
"""check_memory_snapshot.py accepts a valid snapshot, and rejects each invalid one for the right reason."""

import collections
import copy
import importlib
import importlib.util
import json
import pathlib
import pickle
import subprocess
import sys
import tempfile

MIB = 1 << 20
SEGMENT_AT, SMALL_AT = 0x7F0000000000, 0x7F1000000000
WEIGHT, PENDING, FREE = SEGMENT_AT, SEGMENT_AT + 8 * MIB, SEGMENT_AT + 12 * MIB


def block(address, size, state, requested=None):
    return {"address": address, "size": size, "requested_size": requested or size, "state": state, "frames": []}


def segment(address, kind, blocks):
    def total(key, *states):
        return sum(each[key] for each in blocks if each["state"] in states)

    active = ("active_allocated", "active_pending_free")
    return {"device": 0, "address": address, "total_size": sum(each["size"] for each in blocks),
            "allocated_size": total("size", "active_allocated"), "active_size": total("size", *active),
            "requested_size": total("requested_size", *active), "stream": 0, "segment_type": kind, "segment_pool_id": (0, 0),
            "is_expandable": False, "frames": [], "blocks": blocks}


def made_snapshot():
    """A weight, a tensor waiting for its release, one allocated and released, and one from before the recording."""
    large = [block(WEIGHT, 8 * MIB, "active_allocated", 8 * MIB - 100), block(PENDING, 4 * MIB, "active_pending_free"),
             block(FREE, 8 * MIB, "inactive")]
    small = [block(SMALL_AT, 512, "active_allocated", 4), block(SMALL_AT + 512, 2 * MIB - 512, "inactive")]
    events = [("segment_alloc", SEGMENT_AT, 20 * MIB), ("alloc", WEIGHT, 8 * MIB - 100), ("alloc", PENDING, 4 * MIB), ("alloc", FREE, 6 * MIB),
              ("free_requested", FREE, 6 * MIB), ("free_completed", FREE, 6 * MIB), ("free_requested", SMALL_AT + 1024, 8),
              ("free_completed", SMALL_AT + 1024, 8), ("free_requested", PENDING, 4 * MIB), ("snapshot", 0, 0)]
    trace = [{"action": action, "addr": address, "size": size, "stream": 0, "time_us": 1_700_000_000_000_000 + 10 * number,
              "compile_context": "", "user_metadata": ""} for number, (action, address, size) in enumerate(events)]
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False}
    return {"segments": [segment(SEGMENT_AT, "large", large), segment(SMALL_AT, "small", small)], "device_traces": [trace, []],
            "allocator_settings": settings, "external_annotations": []}


def has_torch():
    return importlib.util.find_spec("torch") is not None


def run(checker, path, *arguments):
    return subprocess.run([sys.executable, checker, str(path), *arguments], capture_output=True, text=True, timeout=120)


def write(folder, content):
    path = folder / "memory_snapshot.pickle"
    path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol=2))
    return path


def check_right(checker, folder):
    path = write(folder, made_snapshot())
    done = run(checker, path)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    expected = {"segments": 2, "reserved_bytes": 22 * MIB, "allocated_bytes": 8 * MIB + 512, "requested_bytes": 12 * MIB - 96, "blocks": 5,
                "active_blocks": 3, "events": 10, "alloc": 3, "free_requested": 3, "free_completed": 2, "segment_alloc": 1, "segment_free": 0,
                "oom": 0, "peak_requested_bytes": 18 * MIB - 88, "covers_ms": 0.09, "read_by_pytorch": has_torch()}
    assert figures == expected, f"{figures}, expected {expected}"
    assert run(checker, path, "--peak", str(18 * MIB)).returncode == 0
    refused = run(checker, path, "--peak", str(21 * MIB))
    assert refused.returncode == 1 and "reaches" in refused.stderr, refused
    damaged = run(checker, write(folder, b"no pickle"))
    assert damaged.returncode == 1 and "not a pickle" in damaged.stderr and "Traceback" not in damaged.stderr, damaged
    absent = run(checker, folder / "absent")
    assert absent.returncode == 1 and "absent" in absent.stderr and "Traceback" not in absent.stderr, absent


def edited(edit):
    snapshot = copy.deepcopy(made_snapshot())
    edit(snapshot)
    return snapshot


def check_wrong(checker, folder):
    def segments(snapshot):
        return snapshot["segments"]

    def trace(snapshot):
        return snapshot["device_traces"][0]

    def oom_without_free_memory(snapshot):
        trace(snapshot).append({**trace(snapshot)[-1], "action": "oom"})

    right = pickle.dumps(made_snapshot(), protocol=2)
    cases = [
        (b"", "not a pickle"),
        (right[:-50], "not a pickle"),
        (pickle.dumps([1, 2]), "not a dict"),
        (pickle.dumps(collections.OrderedDict(made_snapshot()), protocol=2), "does not know"),
        (edited(lambda s: s.pop("segments")), "has no segments"),
        (edited(lambda s: s.pop("device_traces")), "has no device_traces"),
        (edited(lambda s: s.pop("allocator_settings")), "has no allocator_settings"),
        (edited(lambda s: s.update(segments=[])), "nothing was allocated"),
        (edited(lambda s: s.update(device_traces=[[], []])), "no history"),
        (edited(lambda s: segments(s)[0].pop("stream")), "segment 0 has no stream"),
        (edited(lambda s: segments(s)[0].update(segment_type="huge")), "'huge'"),
        (edited(lambda s: segments(s)[0].update(allocated_size=8 * MIB - 512)), "its allocated_size"),
        (edited(lambda s: segments(s)[0].update(active_size=8 * MIB)), "its active_size"),
        (edited(lambda s: segments(s)[0].update(total_size=21 * MIB)), "its total_size"),
        (edited(lambda s: segments(s)[0].update(device=2)), "device 2"),
        (edited(lambda s: segments(s).append(copy.deepcopy(segments(s)[1]))), "overlap"),
        (edited(lambda s: segments(s)[0]["blocks"][1].update(state="active")), "state 'active'"),
        (edited(lambda s: segments(s)[0]["blocks"][1].update(address=FREE)), "begins at"),
        (edited(lambda s: segments(s)[1]["blocks"][0].pop("requested_size")), "has no requested_size"),
        (edited(lambda s: trace(s)[3].pop("time_us")), "event 3 of trace 0 has no time_us"),
        (edited(lambda s: trace(s)[3].update(time_us=1.5)), "time_us"),
        (edited(lambda s: trace(s)[3].update(time_us=0)), "earlier"),
        (edited(lambda s: trace(s)[3].update(action="malloc")), "'malloc'"),
        (edited(lambda s: trace(s)[3].update(addr=WEIGHT)), "which is in use"),
        (edited(lambda s: trace(s).pop(4)), "was not requested"),
        (edited(lambda s: trace(s)[5].update(size=1)), "of another number"),
        (edited(lambda s: trace(s)[4].update(size=1)), "another number was allocated"),
        (edited(lambda s: trace(s).insert(7, dict(trace(s)[4]))), "not in use"),
        (edited(lambda s: trace(s).pop(8)), "active_allocated after trace 0"),
        (edited(lambda s: trace(s).insert(9, {**trace(s)[1], "addr": FREE, "time_us": trace(s)[9]["time_us"]})), "not so in the segments"),
        (edited(oom_without_free_memory), "has no device_free"),
        (edited(lambda s: s["device_traces"].__setitem__(1, [trace(s)[0]] * 65_537)), "the viewer takes"),
    ]
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(pathlib.Path(checker).parent))
    module = importlib.import_module(pathlib.Path(checker).stem)
    for number, (content, word) in enumerate(cases):
        try:
            figures = module.check(module.load(write(folder, content)))
        except module.Refused as refused:
            assert word in str(refused), f"case {number}: {refused}, expected {word!r} in it"
        else:
            raise AssertionError(f"case {number} ({word}) is not refused: {figures}")


def main():
    (checker,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        check_right(checker, pathlib.Path(name))
        check_wrong(checker, pathlib.Path(name))


if __name__ == "__main__":
    main()
