"""constants.safetensors: an ordinary safetensors file in which every tensor begins at a multiple of 64 bytes.

The header is padded with spaces, gaps are filled by uint8 tensors named `__pad.N`, so that any safetensors reader accepts
the file and the runtime can map it and hand its pages to kernels.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ALIGNMENT = 64
FILLER = "__pad."
_DTYPES = {
    "float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16", "float8_e4m3": "F8_E4M3", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "int8": "I8", "int32": "I32", "int64": "I64", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip


@dataclass(frozen=True)
class StoredTensor:
    """Where a tensor lies: `offset` counts from the beginning of the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


def write_safetensors(path: Path, tensors: Iterable[tuple[str, np.ndarray[Any, Any]]]) -> None:
    """Write named arrays in the order given, atomically; raise ValueError for a dtype that the format lacks or a name used twice."""
    items = [(name, np.ascontiguousarray(array)) if array.ndim else (name, array) for name, array in tensors]
    header = _header(items)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    made = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with made.open("wb") as file:
            file.write(len(text).to_bytes(8, "little"))
            file.write(text)
            for _, array in items:
                file.write(array.reshape(-1).view(np.uint8).data)
                file.write(bytes(-array.nbytes % ALIGNMENT))
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


def _header(items: list[tuple[str, np.ndarray[Any, Any]]]) -> dict[str, Any]:
    header: dict[str, Any] = {}
    offset = 0
    for number, (name, array) in enumerate(items):
        dtype = _DTYPES.get(array.dtype.name)
        if dtype is None:
            raise ValueError(f"constant {name!r} has dtype {array.dtype}, which a safetensors file does not hold: {', '.join(_DTYPES)}")
        if name in header or name == "__metadata__" or name.startswith(FILLER):
            raise ValueError(f"constant name {name!r} is used twice or reserved")
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
        gap = -array.nbytes % ALIGNMENT
        if gap:
            header[f"{FILLER}{number}"] = {"dtype": "U8", "shape": [gap], "data_offsets": [offset, offset + gap]}
            offset += gap
    return header


def read_header(path: Path) -> dict[str, StoredTensor]:
    """Return what a file holds, fillers left out; raise ValueError when it is no safetensors file."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            raise ValueError(f"{path}: its header is longer than the file")
        header = json.loads(file.read(length))
    begin = 8 + length
    names = {v: k for k, v in reversed(_DTYPES.items())}
    return {
        name: StoredTensor(name, names[e["dtype"]], tuple(e["shape"]), begin + e["data_offsets"][0], e["data_offsets"][1] - e["data_offsets"][0])
        for name, e in header.items()
        if name != "__metadata__" and not name.startswith(FILLER)
    }


def map_tensors(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Return read-only arrays over the mapped file; raise ValueError when it is no safetensors file."""
    pages = np.memmap(path, dtype=np.uint8, mode="r")
    out: dict[str, np.ndarray[Any, Any]] = {}
    for tensor in read_header(path).values():
        raw = pages[tensor.offset : tensor.offset + tensor.nbytes]
        out[tensor.name] = raw.view(_numpy_dtype(tensor.dtype)).reshape(tensor.shape)
    return out


def _numpy_dtype(name: str) -> np.dtype[Any]:
    if name.startswith(("bfloat16", "float8")):
        import ml_dtypes

        extension: np.dtype[Any] = np.dtype(getattr(ml_dtypes, "float8_e4m3fn" if name == "float8_e4m3" else name))
        return extension
    return np.dtype(name)
