"""Arrays for a function of an artifact: from .npy files, from a model file, or made up."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dinoml.cli.model_file import ModelFile
from dinoml.cli.status import CliError
from dinoml.ir import dtypes, intexpr
from dinoml.ir.graph import Function, Graph

Arrays = dict[str, np.ndarray[Any, Any]]


def from_files(texts: Sequence[str], function: Function) -> Arrays:
    """Return the arrays of NAME=FILE.npy pairs, cast to the function's dtypes where nothing is lost by it."""
    arrays: Arrays = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals:
            raise CliError(f"--input {text!r}: write NAME=FILE.npy")
        check_name(name, function.inputs)
        try:
            array = np.load(Path(path), allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise CliError(f"--input {name}: {path} is no .npy file ({error})") from None
        arrays[name] = as_dtype(array, function.types[name].dtype, name)
    check_complete(arrays, function.inputs)
    return arrays


def check_name(name: str, wanted: Sequence[str]) -> None:
    """Raise CliError for a name that is no input."""
    if name not in wanted:
        near = difflib.get_close_matches(name, wanted, 1)
        raise CliError(f"no input {name!r}; inputs are {', '.join(wanted) or 'none'}" + (f". Did you mean {near[0]!r}?" if near else ""))


def check_complete(arrays: Mapping[str, Any], wanted: Sequence[str]) -> None:
    """Raise CliError naming the inputs that are missing."""
    missing = [name for name in wanted if name not in arrays]
    if missing:
        raise CliError(f"missing inputs: {', '.join(missing)}")


def as_dtype(array: np.ndarray[Any, Any], dtype: str, name: str) -> np.ndarray[Any, Any]:
    """Return the array in a dtype: floats are rounded, integers must fit, and bfloat16 may come as uint16 bits."""
    to = dtypes.numpy_dtype(dtype)
    if array.dtype == to:
        return array
    if dtype == "bfloat16" and array.dtype in (np.dtype(np.uint16), np.dtype("V2")):
        return array.view(to)
    floats = array.dtype.kind == "f" and to.kind in "fV"
    if not floats and not (np.can_cast(array.dtype, to) or (array.dtype.kind in "iu" and np.array_equal(array, array.astype(to)))):
        raise CliError(f"input {name!r}: dtype {array.dtype} instead of {dtype}; save it as {dtype}")
    return array.astype(to)


def from_model(model: ModelFile, function: Function, kwargs: Mapping[str, Any]) -> Arrays:
    """Return what build_validation_inputs() gives, checked against the function's inputs."""
    made = model.call("build_validation_inputs", "makes the inputs", {"function": function.name}, kwargs)
    if not isinstance(made, Mapping):
        raise CliError(f"{model.path}: build_validation_inputs() returned {type(made).__name__}, not a dict of arrays")
    for name in made:
        check_name(name, function.inputs)
    check_complete(made, function.inputs)
    return {name: as_dtype(to_numpy(made[name]), function.types[name].dtype, name) for name in function.inputs}


def to_numpy(value: Any) -> np.ndarray[Any, Any]:
    """Return an array for an array, a tensor of PyTorch or a number."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float().numpy() if str(value.dtype) == "torch.bfloat16" else value.numpy()
    return np.asarray(value)


def made_up(graph: Graph, function: Function, extents: Mapping[str, int], seed: int) -> Arrays:
    """Return random inputs: normal floats, zeros for integers (always a valid index), at each dim's typical extent unless given."""
    for name, extent in extents.items():
        if name not in graph.dims:
            raise CliError(f"--shape {name}: no such dim; dims are {', '.join(graph.dims) or 'none'}")
        dim = graph.dims[name]
        if not dim.min <= extent <= dim.max:
            raise CliError(f"--shape {name}={extent} is outside {dim.min}..{dim.max}")
    sizes = {name: dim.typical for name, dim in graph.dims.items()} | dict(extents)
    random = np.random.default_rng(seed)
    arrays: Arrays = {}
    for name in function.inputs:
        t = function.types[name]
        shape = [int(intexpr.evaluate(e, sizes)) for e in t.shape]
        to = dtypes.numpy_dtype(t.dtype)
        arrays[name] = random.standard_normal(shape, np.float32).astype(to) if dtypes.DTYPES[t.dtype].kind == "float" else np.zeros(shape, to)
    return arrays
