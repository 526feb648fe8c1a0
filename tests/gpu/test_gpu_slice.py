"""The kernels of the slice compile for every arch from one text, without spills, into machine code of that arch."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from slice_cases import CASES, Case
from slice_kernels import lower_case

from dinoml.build import gpu, rocm
from dinoml.targets import Target

pytestmark = pytest.mark.gpu_compile

# ELF machine and flags: CUDA keeps the number of the arch in the second byte, AMDGPU an enumeration in the first.
ARCHS = {
    "sm_86": ("cuda", 190, 8, 86),
    "sm_90a": ("cuda", 190, 8, 90),
    "gfx1100": ("rocm", 224, 0, 0x41),
    "gfx942": ("rocm", 224, 0, 0x4C),
}
# One case for each template, form, dtype and way in which rows end; for the timed ones all candidates.
NAMES = (
    "chain_bfloat16_32768x4096", "chain_float16_67x96", "exact_gelu", "permuted", "integers",
    "add_rms_bfloat16_32768x4096", "add_rms_bfloat16_33x1001", "layer_norm_bfloat16_9x100003", "standardize_columns",
    "softmax_bfloat16_32768x4096", "masked_softmax", "softmax_columns",
    "linear_bfloat16_4096x4096x4096", "linear_float32_33x65x129", "linear_bfloat16_70x44x1024_stored", "matmul_float32_2x3x5x7_3x7x4",
)  # fmt: skip
CHOSEN = [c for c in CASES if c.name in NAMES]


def sources(case: Case, target: Target) -> dict[str, str]:
    """Return name → text of the first candidate of each kernel, of all candidates for timed cases."""
    lowered = lower_case(case, target)
    steps = (*lowered.program, *lowered.main)
    return {s.name: s.text for step in steps for s in (step.sources if case.timed else step.sources[:1])}


def test_every_name_is_a_case() -> None:
    assert {c.name for c in CHOSEN} == set(NAMES)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_one_text_for_all_archs(case: Case) -> None:
    texts = [sources(case, Target(name, arch)) for arch, (name, *_) in ARCHS.items()]
    assert texts[0]
    assert all(t == texts[0] for t in texts)
    assert not any(word in text for text in texts[0].values() for word in ("CUDA", "HIP", "cuda", "hip"))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("case", CHOSEN, ids=lambda c: c.name)
def test_compiles_without_spills(case: Case, arch: str, tmp_path: Path) -> None:
    name, machine, shift, number = ARCHS[arch]
    target = Target(name, arch)
    for kernel, text in sources(case, target).items():
        source, out = tmp_path / f"{kernel}{gpu.SUFFIX[name]}", tmp_path / f"{kernel}.elf"
        source.write_text(text)
        (resources,) = gpu.compile_device(source, target, out)
        assert resources.spills == 0
        assert resources.stack == 0
        header = out.read_bytes()[:64]
        assert header[:4] == b"\x7fELF"
        assert struct.unpack_from("<H", header, 18) == (machine,)
        (flags,) = struct.unpack_from("<I", header, 48)
        assert flags >> shift & 0xFF == number


def test_host_code_links(tmp_path: Path) -> None:
    """One library with host and device code for each vendor; its entry points are exported."""
    case = next(c for c in CASES if c.name == "softmax_bfloat16_33x1000")
    for arch in ("sm_90a", "gfx1100"):
        target = Target(ARCHS[arch][0], arch)
        (kernel, text), *_ = sources(case, target).items()
        source = tmp_path / f"{kernel}{gpu.SUFFIX[target.name]}"
        source.write_text(text)
        gpu.compile_object(source, target, tmp_path / "kernel.o")
        gpu.link_library([tmp_path / "kernel.o"], target, tmp_path / f"{arch}.so")
        assert kernel.encode() in (tmp_path / f"{arch}.so").read_bytes()


def test_isa_numbers() -> None:
    assert [rocm.isa_number(a) for a in ("gfx90a", "gfx942", "gfx1100", "gfx1201")] == [9010, 9402, 11000, 12001]
