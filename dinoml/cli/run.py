"""`dinoml run`: run an artifact on .npy files."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from dinoml.cli import inputs, output, status
from dinoml.cli.artifact_files import ArtifactFiles


def run(arguments: argparse.Namespace) -> int:
    """Run once; write the outputs, or say what they are like."""
    from dinoml import runtime

    files = ArtifactFiles(arguments.artifact)
    function = files.function(arguments.function)
    arrays = inputs.from_files(arguments.input, function)
    with runtime.load(files.path) as module, module.create_session(threads=arguments.threads) as session:
        outputs = session.run_numpy(arrays, function=function.name)
    rows = {name: _facts(array) for name, array in outputs.items()}
    if arguments.output_dir:
        arguments.output_dir.mkdir(parents=True, exist_ok=True)
        for name, array in outputs.items():
            path = arguments.output_dir / f"{name}.npy"
            # NumPy has no bfloat16 on disk: the bits are kept as uint16.
            np.save(path, array.view(np.uint16) if array.dtype.name == "bfloat16" else array)
            rows[name]["file"] = str(path)
    if arguments.json:
        output.print_json(rows)
    else:
        columns = ("output", "dtype", "shape", "min", "max", "mean", *(["file"] if arguments.output_dir else []))
        output.print_table("", columns, [(n, *r.values()) for n, r in rows.items()], right=("min", "max", "mean"))
    return status.OK


def _facts(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    wide = array.astype(np.float64)
    low, high, mean = (float(f(wide)) if array.size else None for f in (np.min, np.max, np.mean))
    return {"dtype": array.dtype.name, "shape": list(array.shape), "min": low, "max": high, "mean": mean}
