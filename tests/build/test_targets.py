"""Targets: spellings, resolution of `native`, refusals."""

import dataclasses
import subprocess

import pytest

from dinoml.build import find_toolchain
from dinoml.targets import NotBuiltYetError, Target, TargetError, cpu


def test_native_is_resolved_to_an_explicit_arch():
    target = Target("cpu")
    assert target.arch != "native"
    assert target == Target("cpu", "native") == Target("cpu", target.arch) == Target.of(f"cpu:{target.arch}")
    assert target.features == cpu.parse_arch(target.arch).features
    assert not cpu.missing_on_host(target.cpu_arch)


@pytest.mark.parametrize("name", cpu.LEVELS)
def test_levels_contain_those_below(name):
    levels = list(cpu.LEVELS)
    below = levels[max(0, levels.index(name) - 1)]
    assert set(cpu.LEVELS[below].features) <= set(cpu.LEVELS[name].features)
    assert cpu.LEVELS[below].vector_bytes <= cpu.LEVELS[name].vector_bytes


def test_the_best_level_with_all_features_is_chosen():
    avx512 = frozenset(cpu.LEVELS["avx512"].features)
    assert cpu.arch_for(avx512) == "avx512"
    assert cpu.arch_for(avx512 | {"avx512vnni"}) == "avx512+avx512vnni"
    assert cpu.arch_for(avx512 - {"avx512dq"}) == "avx2"
    assert cpu.arch_for(avx512 - {"fma"}) == "x86-64-v2"
    assert cpu.arch_for(frozenset({"sse4.1"})) is None


def test_both_spellings_of_a_feature_name_the_same():
    assert Target("cpu", "avx512+avx512_vnni+avx512_bf16").arch == "avx512+avx512bf16+avx512vnni"
    assert Target("cpu", "avx512+avx512bf16").has("avx512_bf16")
    assert not Target("cpu", "avx512").has("avx512bf16")


@pytest.mark.parametrize(
    ("arch", "text"),
    [("avx3", "not one of x86-64-v2, avx2, avx512"), ("avx512+amx", "'amx' is not one of"), ("avx2+avx512bf16", "needs level avx512, not avx2")],
)
def test_unknown_cpu_archs_are_refused(arch, text):
    with pytest.raises(TargetError, match=text):
        Target("cpu", arch)


@pytest.mark.parametrize(("name", "arch"), [("cuda", "sm_86"), ("cuda", "sm_90a"), ("rocm", "gfx1201"), ("rocm", "gfx90a")])
def test_gpu_targets_exist_and_say_what_is_missing(name, arch):
    target = Target(name, arch)
    with pytest.raises(NotBuiltYetError, match="--target cpu") as error:
        target.check_available()
    assert arch in str(error.value)


@pytest.mark.parametrize(("name", "arch"), [("cuda", "gfx90a"), ("rocm", "sm_86"), ("cuda", "86")])
def test_gpu_archs_are_checked(name, arch):
    with pytest.raises(TargetError, match=f"{name} arch '{arch}'"):
        Target(name, arch)


def test_numerics_are_strict_unless_asked():
    assert not Target("cuda").tf32
    assert not Target("cuda", no_tf32=False).tf32
    assert Target("cuda", use_fp16_acc=True).fp16_accumulate
    with pytest.raises(TargetError, match="contradict"):
        Target("cuda", tf32=True, no_tf32=True)


def test_a_target_survives_json_and_threads_stay_out_of_its_key():
    target = Target("cpu", "avx2", threads=3)
    assert Target.of(target.to_json()) == target
    assert target.key == Target("cpu", "avx2").key
    assert dataclasses.replace(target, threads=None) == Target("cpu", "avx2")


@pytest.mark.parametrize("arch", [*cpu.LEVELS, "avx512+avx512bf16+avx512vnni"])
def test_the_compiler_takes_the_flags_of_each_arch(arch):
    command = [*find_toolchain().command, *Target("cpu", arch).flags, "-fsyntax-only", "-x", "c++", "-"]
    assert subprocess.run(command, input="int x;", text=True, capture_output=True, check=False).stderr == ""
