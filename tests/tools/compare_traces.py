#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decodes trace.pftrace and checks that it has the content of trace.json of the same profile.

usage: compare_traces.py packing|slices|ranks PROGRAM PROFILE...

PROGRAM is profkit_write_traces, each PROFILE an argument for it. `packing` compares compressed packets with uncompressed ones, using Python's
zlib. `slices` decodes with Google's protos (the package perfetto from PyPI) and compares tracks, slices with their nesting and arguments,
arrows and counters. `ranks` decodes the concatenated traces of all profiles as one. Exits with 4, "skipped", if that package is not
installed.
"""

import collections
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import zlib

STEPS = "3"


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return number, at


def fields(data):
    """@return the length-delimited fields of a message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag & 7 == 2, (tag, at)
        length, at = varint(data, at)
        assert at + length <= len(data), (at, length, len(data))
        yield tag >> 3, data[at:at + length]
        at += length


def unpack(data):
    """@return the trace without compressed packets."""
    result = bytearray()
    for number, packet in fields(data):
        assert number == 1, number
        inner = list(fields(packet))
        assert len(inner) == 1 and inner[0][0] == 50, "not a compressed packet"
        result += zlib.decompress(inner[0][1])
    return bytes(result)


def check_packing(folder, profile):
    plain = (folder / "plain.pftrace").read_bytes()
    compressed = (folder / "trace.pftrace").read_bytes()
    assert unpack(compressed) == plain, profile
    assert len(compressed) < len(plain) / 2, (profile, len(compressed), len(plain))


def with_depth(slices):
    """@return slices (begin, duration, ...) in the order of their begin, each with its depth."""
    ends = []
    for each in slices:
        while ends and ends[-1] <= each[0]:
            ends.pop()
        yield (*each, len(ends))
        ends.append(each[0] + each[1])


def ns(microseconds):
    return round(microseconds * 1000)


class JsonTrace:
    def __init__(self, path):
        trace = json.loads(path.read_text(encoding="utf-8"))
        self.version = trace["otherData"]["profkit"]
        self.begin = int(trace["otherData"]["begin_unix_ns"])
        processes, names, slices = {}, {}, collections.defaultdict(list)
        counters = collections.defaultdict(list)
        self.arrows = collections.defaultdict(list)
        for event in trace["traceEvents"]:
            track = (event["pid"], event.get("tid"))
            if event["name"] == "process_name":
                processes[event["pid"]] = event["args"]["name"]
            elif event["name"] == "thread_name":
                names[track] = event["args"]["name"]
            elif event["ph"] == "X":
                slices[track].append((ns(event["ts"]), ns(event["dur"]), event["name"], event["cat"], self.arguments(event)))
            elif event["ph"] == "C":
                counters[event["name"]].append((ns(event["ts"]), *event["args"].values()))
            elif event["ph"] in "sf":
                self.arrows[event["id"]].append((event["ph"], processes[event["pid"]], ns(event["ts"])))
        self.tracks = collections.Counter((processes[track[0]], name) for track, name in names.items())
        self.slices = collections.defaultdict(list)
        for track, content in slices.items():
            self.slices[processes[track[0]], names[track]] += with_depth(content)
        self.counters = {name: sorted(values) for name, values in counters.items()}

    @staticmethod
    def arguments(event):
        lists = {key: ",".join(map(str, value)) if isinstance(value, list) else value for key, value in event.get("args", {}).items()}
        return tuple(sorted(lists.items()))


class Sequence:
    """State that packets of one sequence define for later packets."""

    def __init__(self, packet):
        defaults = packet.trace_packet_defaults
        self.track = defaults.track_event_defaults.track_uuid
        clocks = {clock.clock_id: clock for clock in packet.clock_snapshot.clocks}
        own = clocks[defaults.timestamp_clock_id]
        assert 64 <= own.clock_id < 128 and own.is_incremental and own.unit_multiplier_ns == 1, own
        assert packet.clock_snapshot.primary_trace_clock == 1 and clocks[1].timestamp == own.timestamp, clocks
        self.now = own.timestamp
        self.texts = collections.defaultdict(dict)
        self.open = []

    def take(self, interned):
        for kind in ("event_categories", "event_names", "debug_annotation_names", "debug_annotation_string_values"):
            for entry in getattr(interned, kind):
                text = entry.str.decode() if kind == "debug_annotation_string_values" else entry.name
                assert entry.iid not in self.texts[kind], (kind, entry)
                self.texts[kind][entry.iid] = text


class ProtoTrace:
    def __init__(self, protos, *paths):
        self.protos = protos
        self.names = {}
        self.tracks = collections.Counter()
        self.described = {}
        self.labels = []
        self.slices = collections.defaultdict(list)
        self.counters = collections.defaultdict(list)
        self.flows = collections.defaultdict(list)
        self.begins = []
        sequences = {}
        trace = protos.Trace.FromString(unpack(b"".join(each.read_bytes() for each in paths)))
        for packet in trace.packet:
            if packet.HasField("track_descriptor"):
                self.describe(packet.track_descriptor)
                continue
            if packet.sequence_flags & 1:
                assert packet.trusted_packet_sequence_id not in sequences
                sequences[packet.trusted_packet_sequence_id] = Sequence(packet)
                self.begins.append(sequences[packet.trusted_packet_sequence_id].now)
                continue
            sequence = sequences[packet.trusted_packet_sequence_id]
            if packet.HasField("interned_data"):
                sequence.take(packet.interned_data)
            else:
                sequence.now += packet.timestamp
                self.event(sequence, packet.track_event)
        assert not any(sequence.open for sequence in sequences.values()), "a slice does not end"
        self.counters = {name: sorted(values) for name, values in self.counters.items()}

    def describe(self, track):
        assert track.uuid and track.uuid not in self.described, track
        self.described[track.uuid] = track
        if track.HasField("process"):
            self.process = track.process
            self.names[track.uuid] = (track.process.process_name,)
            self.labels += track.process.process_labels
        elif track.HasField("thread"):
            assert track.thread.pid == self.process.pid
            self.names[track.uuid] = self.names[track.parent_uuid] + (track.thread.thread_name,)
        else:
            self.names[track.uuid] = (self.names[track.parent_uuid] if track.parent_uuid else ()) + (track.name,)
        if len(self.names[track.uuid]) == 2 and not track.HasField("counter"):
            self.tracks[self.names[track.uuid]] += 1

    def event(self, sequence, event):
        name = self.names[sequence.track]
        if event.type == event.TYPE_SLICE_BEGIN:
            arguments = {}
            for each in event.debug_annotations:
                key = sequence.texts["debug_annotation_names"][each.name_iid]
                arguments[key] = (sequence.texts["debug_annotation_string_values"][each.string_value_iid] if each.HasField("string_value_iid")
                                  else each.uint_value)
            (category,) = event.category_iids
            slice_ = [sequence.now, None, sequence.texts["event_names"][event.name_iid], sequence.texts["event_categories"][category],
                      tuple(sorted(arguments.items())), len(sequence.open)]
            self.slices[name].append(slice_)
            sequence.open.append(slice_)
            for flow in event.flow_ids:
                self.flows[flow].append(("s", name[0], sequence.now))
            for flow in event.terminating_flow_ids:
                self.flows[flow].append(("f", name[0], sequence.now))
        elif event.type == event.TYPE_SLICE_END:
            slice_ = sequence.open.pop()
            slice_[1] = sequence.now - slice_[0]
        else:
            assert event.type == event.TYPE_COUNTER, event
            is_bytes = self.described[sequence.track].counter.unit == self.protos.CounterDescriptor.UNIT_SIZE_BYTES
            value = event.counter_value if is_bytes else event.double_counter_value
            self.counters.setdefault(name[1], []).append((sequence.now, value))


def check_slices(folder, profile, protos):
    wanted = JsonTrace(folder / "trace.json")
    found = ProtoTrace(protos, folder / "trace.pftrace")
    begin = wanted.begin
    assert found.labels == ["profkit " + wanted.version], found.labels
    assert min(found.begins) <= begin, (found.begins, begin)
    assert found.tracks == wanted.tracks, (found.tracks, wanted.tracks)
    total = 0
    for track, slices in wanted.slices.items():
        decoded = [(each[0] - begin, *each[1:]) for each in found.slices[track]]
        for one, other in zip(sorted(decoded), sorted(slices)):
            assert one == other, (profile, track, one, other)
        assert len(decoded) == len(slices), (profile, track, len(decoded), len(slices))
        total += len(slices)
    assert set(found.slices) == set(wanted.slices), (found.slices.keys(), wanted.slices.keys())
    flows = {flow - 1: sorted((kind, process, time - begin) for kind, process, time in ends) for flow, ends in found.flows.items()}
    assert flows == {number: sorted(ends) for number, ends in wanted.arrows.items()}, profile
    assert all(len(ends) == 2 for ends in flows.values()), profile
    assert set(found.counters) == set(wanted.counters), (found.counters.keys(), wanted.counters.keys())
    values = 0
    for name, samples in wanted.counters.items():
        decoded = [(time - begin, value) for time, value in found.counters[name]]
        assert len(decoded) == len(samples), (profile, name)
        for one, other in zip(decoded, samples):
            assert one[0] == other[0] and math.isclose(one[1], other[1], rel_tol=1e-15), (profile, name, one, other)
        values += len(samples)
    assert total > 0 and flows, profile
    print(f"{pathlib.Path(profile).name}: {sum(wanted.tracks.values())} tracks, {total} slices, {len(flows)} arrows, {values} values of counters; "
          f"{(folder / 'trace.pftrace').stat().st_size} bytes, trace.json {(folder / 'trace.json').stat().st_size}")


def check_ranks(program, profiles, protos):
    """ProtoTrace requires that each track and each sequence is unique, and that each slice ends."""
    with tempfile.TemporaryDirectory() as name:
        paths = []
        for position, profile in enumerate(profiles):
            folder = pathlib.Path(name) / str(position)
            folder.mkdir()
            subprocess.run([program, profile, folder, STEPS], check=True)
            paths.append(folder / "trace.pftrace")
        alone = [ProtoTrace(protos, each) for each in paths]
        together = ProtoTrace(protos, *paths)
    processes = {name[0] for name in together.slices}
    assert {f"rank {rank} (vm)" for rank in range(len(profiles))} <= processes, processes
    for each in alone:
        for track, slices in each.slices.items():
            assert all(one in together.slices[track] for one in slices), track
    assert sum(together.tracks.values()) == sum(sum(each.tracks.values()) for each in alone), together.tracks
    assert len(together.flows) == sum(len(each.flows) for each in alone) and all(len(ends) == 2 for ends in together.flows.values())
    print(f"{len(profiles)} ranks: {sum(together.tracks.values())} tracks, {len(together.flows)} arrows")


def main():
    what, program, *profiles = sys.argv[1:]
    if what in ("slices", "ranks"):
        try:
            from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos
        except ImportError as failure:
            print(f"skipped: {failure} (python3 -m pip install perfetto)")
            return 4
    if what == "ranks":
        check_ranks(program, profiles, protos)
        return 0
    for profile in profiles:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run([program, profile, name, STEPS], check=True)
            if what == "slices":
                check_slices(folder, profile, protos)
            else:
                check_packing(folder, profile)
    assert profiles
    return 0


if __name__ == "__main__":
    sys.exit(main())
