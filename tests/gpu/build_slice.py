"""Build the GPU slice into a folder: every candidate of every case in one library, and slice.json, which says how to run them.

    python tests/gpu/build_slice.py [--arch sm_90a] [--out build/gpu_slice] [--jobs N]

No GPU is needed; run_slice.py runs the folder on one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from slice_cases import CASES  # noqa: E402
from slice_kernels import case_json, lower_case  # noqa: E402

from dinoml import env  # noqa: E402
from dinoml.build import gpu  # noqa: E402
from dinoml.build.cache import digest_of  # noqa: E402
from dinoml.build.includes import closure  # noqa: E402
from dinoml.build.source import include_folders  # noqa: E402
from dinoml.targets import Target  # noqa: E402

ULP = HERE / "ulp.cu"


def build(target: Target, out: Path, jobs: int) -> None:
    """Write library, manifest and sources; objects whose source did not change are kept."""
    sources: dict[str, str] = {}
    described = []
    for case in CASES:
        lowered = lower_case(case, target)
        described.append(case_json(lowered))
        for step in (*lowered.program, *lowered.main):
            sources.update({s.name: s.text for s in step.sources})
    work = out.with_name(f"{out.name}_objects")
    work.mkdir(parents=True, exist_ok=True)
    files = [ULP] if target.name == "cuda" else []
    for name, text in sources.items():
        path = work / f"{name}{gpu.SUFFIX[target.name]}"
        path.write_text(text)
        files.append(path)

    def one(path: Path) -> Path:
        headers = {k: v for k, v in closure(path.read_text(), include_folders()).items() if "cpu" not in k and "float" not in k}
        made = work / f"{path.stem}-{digest_of({'headers': headers, 'command': gpu.compiler(target), 'text': path.read_text()})[:16]}.o"
        if not made.is_file():
            for r in gpu.compile_object(path, target, made):
                if r.spills:
                    print(f"{path.name}: {r.kernel} spills {r.spills}", flush=True)
        return made

    with ThreadPoolExecutor(jobs) as pool:
        objects = list(pool.map(one, files))
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    gpu.link_library(objects, target, out / "slice.so")
    (out / "slice.json").write_text(json.dumps({"target": str(target), "cases": described}, indent=1) + "\n")
    print(f"{len(sources)} kernels of {len(CASES)} cases for {target}: {out / 'slice.so'}, {(out / 'slice.so').stat().st_size / 1e6:.1f} MB")


def main() -> None:
    """Parse arguments and build."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "build/gpu_slice")
    parser.add_argument("--jobs", type=int, default=env.usable_cores())
    arguments = parser.parse_args()
    build(Target("rocm" if arguments.arch.startswith("gfx") else "cuda", arguments.arch), arguments.out, arguments.jobs)


if __name__ == "__main__":
    main()
