# SPDX-License-Identifier: Apache-2.0
"""Tensors by name in a file, as model_check.cpp reads and writes them."""

import struct

import numpy

TYPES = {"f": numpy.dtype("<f4"), "l": numpy.dtype("<i8")}


def write(path, arrays):
    with open(path, "wb") as file:
        for name, array in arrays.items():
            array = numpy.asarray(array)
            letter = "l" if array.dtype.kind == "i" else "f"
            file.write(struct.pack("<q", len(name)) + name.encode() + letter.encode())
            file.write(struct.pack(f"<q{array.ndim}q", array.ndim, *array.shape))
            file.write(array.astype(TYPES[letter]).tobytes())


def read(path):
    arrays = {}
    with open(path, "rb") as file:
        while head := file.read(8):
            name = file.read(*struct.unpack("<q", head)).decode()
            kind = TYPES[file.read(1).decode()]
            (dimensions,) = struct.unpack("<q", file.read(8))
            shape = struct.unpack(f"<{dimensions}q", file.read(8 * dimensions))
            count = int(numpy.prod(shape, dtype=numpy.int64))
            arrays[name] = numpy.frombuffer(file.read(count * kind.itemsize), dtype=kind).reshape(shape)
    return arrays
