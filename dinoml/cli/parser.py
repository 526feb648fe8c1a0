"""The command line: every command and option, and nothing that costs time to import."""

from __future__ import annotations

import argparse
from pathlib import Path

from dinoml import __version__

_EXIT_CODES = """exit codes: 0 done; 1 validate found wrong results; 2 refused (arguments, model, target, artifact); 3 no compiler or a
generated source does not compile; 70 error in DinoML; 130 interrupted"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; the result of parsing has `module`, the module in dinoml.cli that runs the command."""
    parser = argparse.ArgumentParser(
        prog="dinoml", description="Compile models to standalone artifacts and work with them.",
        epilog=_EXIT_CODES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"dinoml {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (_compile, _inspect, _validate, _run, _benchmark, _profile, _explain, _ops, _cache):
        add(commands)
    return parser


_Commands = argparse._SubParsersAction  # its name in typeshed has no public alias


def _command(commands: _Commands[argparse.ArgumentParser], name: str, text: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.set_defaults(module=name)
    parser.add_argument("--traceback", action="store_true", help="show the whole Python traceback of an error")
    return parser


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, and nothing else, on standard output")


def _artifact(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifact", type=Path, metavar="ARTIFACT", help="folder that `dinoml compile` wrote")


def _pairs(parser: argparse.ArgumentParser, flag: str, what: str) -> None:
    parser.add_argument(flag, action="append", default=[], metavar="KEY=JSON", help=what)


def _measure(parser: argparse.ArgumentParser, prefix: str, iterations: int) -> None:
    parser.add_argument(f"--{prefix}iterations", f"--{prefix}iters", type=count, default=iterations, metavar="N",
                        dest=f"{prefix}iterations".replace("-", "_"), help=f"timed runs (default {iterations})")  # fmt: skip


def count(text: str) -> int:
    """Parse a whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number of at least 1")
    return int(text)


def number(text: str) -> float:
    """Parse a tolerance."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of at least 0")
    return value


def _compile(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "compile", "compile a model file to an artifact")
    parser.add_argument("model", type=Path, metavar="MODEL", help="Python file that defines build_spec()")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="artifact folder to write, for example build/x.dinoml")
    parser.add_argument("--target", default="cpu", choices=("cpu", "cuda", "rocm"), help="default cpu")
    parser.add_argument("--arch", help="cpu: native, x86-64-v2, avx2, avx512[+avx512bf16][+avx512vnni]; cuda: sm_86; rocm: gfx1201")
    parser.add_argument("--dtype", help="passed to build_spec, when it takes a dtype")
    parser.add_argument("--tf32", action="store_true", help="allow TF32 in float32 matrix products (GPU)")
    parser.add_argument("--no-tf32", action="store_true", help="refuse TF32; the default, kept for older scripts")
    parser.add_argument("--use-fp16-acc", action="store_true", help="accumulate float16 matrix products in float16 (GPU)")
    parser.add_argument("--profile", action="store_true", help="choose kernels by timing them on this machine")
    _measure(parser, "profile-", 20)
    parser.add_argument("--profile-repeats", type=count, default=3, metavar="N", help="rounds of timed runs (default 3)")
    parser.add_argument("--profile-shape", "--shape", action="append", default=[], metavar="NAME=1,2",
                        help="extents of a dim (or of an input) to profile at; may be repeated")  # fmt: skip
    parser.add_argument("--profile-refresh", action="store_true", help="time again what was timed before")
    parser.add_argument("--execution-plan", type=Path, metavar="FILE", help="take the choices of this plan")
    parser.add_argument("--strict-plan", action="store_true", help="fail when an entry of the plan fits nothing in the model")
    parser.add_argument("--constant-load-policy", choices=("eager", "deferred"), default="eager", help="when loading reads the constants")
    _pairs(parser, "--build-spec-kwarg", "keyword argument for build_spec; may be repeated")
    parser.add_argument("--jobs", "-j", type=count, metavar="N", help="compiler processes at a time (default DINOML_JOBS)")
    parser.add_argument("--threads", type=count, metavar="N", help="threads to choose kernels for (default: all cores)")
    _json(parser)


def _inspect(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "inspect", "show what an artifact holds")
    _artifact(parser)
    parser.add_argument("--kernels", action="store_true", help="each kernel, what it fuses, and why it fuses no more")
    parser.add_argument("--graph", action="store_true", help="the nodes of each function")
    parser.add_argument("--passes", action="store_true", help="what each pass changed")
    parser.add_argument("--memory", action="store_true", help="constants, arena, scratch")
    _json(parser)


def _against(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument("--against", type=Path, required=required, metavar="FILE", help="the model file, which makes the inputs")
    _pairs(parser, "--against-kwarg", "keyword argument for the model file's functions; may be repeated")
    parser.add_argument("--function", metavar="NAME", help="function to run, where the artifact has several")
    parser.add_argument("--threads", type=count, metavar="N", help="threads of the session")
    parser.add_argument("--seed", type=int, default=0, help="seed of NumPy and of made-up inputs (default 0)")


def _validate(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "validate", "compare an artifact with the reference of its model file")
    _artifact(parser)
    _against(parser, required=True)
    parser.add_argument("--atol", type=number, help="absolute tolerance; with --rtol it replaces the scale-free comparison")
    parser.add_argument("--rtol", type=number, help="relative tolerance")
    parser.add_argument("--bisect", action="store_true", help="find the first node whose value differs")
    _json(parser)


def _run(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "run", "run an artifact on .npy files")
    _artifact(parser)
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="one input; may be repeated")
    parser.add_argument("--output-dir", type=Path, metavar="DIR", help="write each output as DIR/NAME.npy")
    parser.add_argument("--function", metavar="NAME", help="function to run, where the artifact has several")
    parser.add_argument("--threads", type=count, metavar="N", help="threads of the session")
    _json(parser)


def _benchmark(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "benchmark", "time an artifact in its native loop")
    _artifact(parser)
    _against(parser, required=False)
    parser.add_argument("--warmup", type=int, default=5, metavar="N", help="runs before the timed ones (default 5)")
    _measure(parser, "", 20)
    parser.add_argument("--shape", action="append", default=[], metavar="DIM=N", help="extent of a dim for made-up inputs")
    parser.add_argument("--per-kernel", action="store_true", help="time each kernel too (costs a clock read per kernel)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the JSON to a file as well")
    _json(parser)


def _profile(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "profile", "time the candidates of an artifact's kernels and write an execution plan")
    _artifact(parser)
    _measure(parser, "", 20)
    parser.add_argument("--repeats", type=count, default=3, metavar="N", help="rounds of timed runs (default 3)")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=1,2", help="extents to profile at; may be repeated")
    parser.add_argument("--refresh", action="store_true", help="time again what was timed before")
    parser.add_argument("--threads", type=count, metavar="N", help="threads to time with")
    parser.add_argument("--jobs", "-j", type=count, metavar="N", help="compiler processes at a time")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the report (default: beside the artifact)")
    parser.add_argument("--execution-plan-out", type=Path, metavar="FILE", help="where to write the plan (default: beside the artifact)")
    _json(parser)


def _explain(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "explain", "say why each kernel was chosen, with timings and declined candidates")
    _artifact(parser)
    parser.add_argument("kernel", nargs="?", metavar="KERNEL", help="a kernel's name or the beginning of it, or a node id")
    _json(parser)


def _ops(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "ops", "list the operators or show one")
    parser.add_argument("action", choices=("list", "show"))
    parser.add_argument("name", nargs="?", metavar="NAME", help="operator or alias (show), or part of a name (list)")
    _json(parser)


def _cache(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "cache", "show or shrink the cache of compiled objects")
    parser.add_argument("action", nargs="?", default="show", choices=("show", "clear"))
    parser.add_argument("--max-size", metavar="SIZE", help="drop the least recently used objects above this size, for example 500M")
    _json(parser)
