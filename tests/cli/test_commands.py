"""The commands on the README's model: compile, inspect, run, benchmark, explain, cache, ops."""

import json
import os

import numpy as np
import pytest

from dinoml.cli import status


def test_compile_says_what_it_made(dinoml, model, tmp_path):
    done = dinoml("compile", model, "--out", tmp_path / "x.dinoml", "--arch", "x86-64-v2", "--json")
    assert done.code == 0
    facts = done.json
    assert facts["target"]["arch"] == "x86-64-v2"
    assert facts["kernels"] >= 1
    assert facts["code_bytes"] > 0
    assert (tmp_path / "x.dinoml" / "module.so").is_file()


def test_the_same_model_gives_the_same_artifact(dinoml, model, tmp_path):
    digests = [dinoml("compile", model, "--out", tmp_path / f"{n}.dinoml", "--json").json["digest"] for n in range(2)]
    assert digests[0] == digests[1]
    assert (tmp_path / "0.dinoml" / "module.so").read_bytes() == (tmp_path / "1.dinoml" / "module.so").read_bytes()


@pytest.mark.parametrize("section", ["kernels", "graph", "passes", "memory"])
def test_inspect_shows_each_section(dinoml, artifact, section):
    assert dinoml("inspect", artifact, f"--{section}").out.strip()
    assert list(dinoml("inspect", artifact, f"--{section}", "--json").json) == [section]


def test_inspect_summarises(dinoml, artifact):
    out = dinoml("inspect", artifact).out
    for text in ("linear", "batch", "float32", "[batch, 8]", "[batch, 6]"):
        assert text in out
    assert dinoml("inspect", artifact, "--json").json["manifest"]["name"] == "linear"


def test_inspect_refuses_a_damaged_artifact(dinoml, tmp_path):
    (tmp_path / "manifest.json").write_text("{")
    done = dinoml("inspect", tmp_path)
    assert done.code == status.REFUSED
    assert "damaged" in done.err


def test_run_reads_and_writes_npy(dinoml, artifact, tmp_path):
    x = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    done = dinoml("run", artifact, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out", "--json")
    assert done.json["y"]["shape"] == [2, 6]
    weight = np.random.default_rng(0).standard_normal((8, 6), np.float32)
    np.testing.assert_allclose(np.load(tmp_path / "out" / "y.npy"), x @ weight, rtol=1e-5, atol=1e-5)


def test_run_casts_what_loses_nothing_by_it_and_refuses_the_rest(dinoml, artifact, tmp_path):
    np.save(tmp_path / "wide.npy", np.ones((1, 8)))
    assert dinoml("run", artifact, "--input", f"x={tmp_path / 'wide.npy'}").code == 0
    np.save(tmp_path / "complex.npy", np.ones((1, 8), np.complex64))
    (tmp_path / "no.npy").write_text("text")
    for argument, text in (("x=complex.npy", "dtype complex64 instead of float32"), ("x=no.npy", "no .npy file"), ("y=wide.npy", "no input 'y'")):
        name, file = argument.split("=")
        done = dinoml("run", artifact, "--input", f"{name}={tmp_path / file}")
        assert (done.code, text in done.err) == (status.REFUSED, True), done.err
    assert "missing inputs: x" in dinoml("run", artifact).err


def test_run_names_the_dim_that_is_out_of_range(dinoml, artifact, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((9, 8), np.float32))
    done = dinoml("run", artifact, "--input", f"x={tmp_path / 'x.npy'}")
    assert done.code == status.REFUSED
    assert "batch" in done.err
    assert "9" in done.err


def test_benchmark_with_the_model_or_made_up_inputs(dinoml, artifact, model, tmp_path):
    out = tmp_path / "b" / "report.json"
    done = dinoml("benchmark", artifact, "--against", model, "--iters", 7, "--warmup", 1, "--per-kernel", "--out", out, "--json")
    assert done.json == json.loads(out.read_text())
    assert done.json["count"] == 7
    assert 0 < done.json["min_ms"] <= done.json["median_ms"]
    assert done.json["inputs"]["x"]["shape"] == [3, 8]
    assert sum(k["share"] for k in done.json["kernels"]) == pytest.approx(1)
    assert dinoml("benchmark", artifact, "--shape", "batch=2", "--iters", 1, "--json").json["inputs"]["x"]["shape"] == [2, 8]
    assert "outside 1..4" in dinoml("benchmark", artifact, "--shape", "batch=5").err
    assert "median" in dinoml("benchmark", artifact, "--per-kernel").out


def test_explain_finds_kernels_by_name_and_node(dinoml, artifact):
    kernels = dinoml("explain", artifact, "--json").json
    assert kernels
    name = kernels[0]["name"]
    assert dinoml("explain", artifact, name[:12], "--json").json[0]["name"] == name
    assert name in dinoml("explain", artifact).out
    assert "there are" in dinoml("explain", artifact, "nothing").err


def test_cache_is_shown_trimmed_and_cleared(dinoml, tmp_path, monkeypatch):
    monkeypatch.setenv("DINOML_CACHE_DIR", str(tmp_path))
    for n in range(3):
        folder = tmp_path / "objects" / "aa" / f"aa{n}"
        folder.mkdir(parents=True)
        (folder / "object.o").write_bytes(b"x" * 1000)
        os.utime(folder, (n, n))
    assert dinoml("cache", "--json").json["bytes"] == 3000
    assert dinoml("cache", "--max-size", "2000", "--json").json["dropped_bytes"] == 1000
    assert dinoml("cache", "clear", "--json").json["objects"] == 0
    assert "0 B of at most" in dinoml("cache").out
    assert "is no size" in dinoml("cache", "--max-size", "lots").err


def test_ops_are_listed_and_shown(dinoml):
    names = {row["name"] for row in dinoml("ops", "list", "--json").json}
    assert {"gelu", "relu"} <= names
    assert {row["name"] for row in dinoml("ops", "list", "relu", "--json").json} <= names
    assert "gelu" in dinoml("ops", "show", "gelu").out
    assert dinoml("ops", "show", "gelu", "--json").json["kind"] == "pointwise"
    assert "did you mean quick_gelu" in dinoml("ops", "show", "quick_gleu").err
    assert "which operator" in dinoml("ops", "show").err


def test_profile_writes_a_plan_that_compile_takes(dinoml, artifact, model, tmp_path):
    plan, report = tmp_path / "plan.json", tmp_path / "report.json"
    arguments = ("--iterations", 2, "--repeats", 1, "--shape", "batch=1,4", "--execution-plan-out", plan, "--out", report, "--json")
    done = dinoml("profile", artifact, *arguments)
    assert done.code == 0
    assert json.loads(plan.read_text()) == done.json["plan"]
    assert json.loads(report.read_text())["problems"]
    again = dinoml("compile", model, "--out", tmp_path / "x.dinoml", "--execution-plan", plan, "--strict-plan", "--json")
    assert again.code == 0
    timed = [k for k in dinoml("explain", tmp_path / "x.dinoml", "--json").json if k["timings"]]
    assert timed
    assert "times the best" in dinoml("explain", tmp_path / "x.dinoml", timed[0]["name"]).out
