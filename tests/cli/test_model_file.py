"""The contract of model files: what build_spec gets, and what is said when something does not fit."""

import pytest

from dinoml.cli import model_file
from dinoml.cli.status import CliError

OFFERED = {"target": "cpu", "arch": "avx2", "no_tf32": True, "use_fp16_acc": False}


def load(tmp_path, text, name="model.py"):
    path = tmp_path / name
    path.write_text(text)
    return model_file.load(path)


@pytest.mark.parametrize(
    ("signature", "extra", "got"),
    [
        ("", {}, {}),
        ("target", {}, {"target": "cpu"}),
        ("target='x', *, arch=None, layers=2", {"layers": 6}, {"target": "cpu", "arch": "avx2", "layers": 6}),
        ("**kw", {"layers": 6}, {"layers": 6}),
        ("target, **kw", {"layers": 6}, {"target": "cpu", "layers": 6}),
        ("target", {"target": "mine"}, {"target": "mine"}),
    ],
)
def test_build_spec_gets_what_its_signature_names(tmp_path, signature, extra, got):
    model = load(tmp_path, f"def build_spec({signature}):\n    return locals()\n")
    result = model.call("build_spec", "compile traces", OFFERED, extra)
    assert result | result.pop("kw", {}) == got


def test_an_argument_that_the_function_lacks_is_refused_with_a_suggestion(tmp_path):
    model = load(tmp_path, "def build_spec(target, layers=2): ...")
    with pytest.raises(CliError, match=r"no argument 'layer'; it takes target, layers\. Did you mean 'layers'"):
        model.call("build_spec", "compile traces", OFFERED, {"layer": 6})


def test_a_missing_function_is_named_with_what_it_may_be(tmp_path):
    model = load(tmp_path, "def build_specs(): ...")
    with pytest.raises(CliError, match=r"no function build_spec\(\), which compile traces; did you mean build_specs"):
        model.call("build_spec", "compile traces", OFFERED, {})


def test_a_model_file_may_import_its_neighbours_and_define_dataclasses(tmp_path):
    (tmp_path / "neighbour.py").write_text("VALUE = 3\n")
    text = "from __future__ import annotations\nimport dataclasses, neighbour\n@dataclasses.dataclass\nclass A:\n    x: int = neighbour.VALUE\n"
    assert load(tmp_path, text).module.A().x == 3


@pytest.mark.parametrize("name", ["no.py", "folder", "model.txt"])
def test_what_is_no_model_file_is_refused(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "model.txt").write_text("")
    with pytest.raises(CliError, match="model file"):
        model_file.load(tmp_path / name)


def test_pairs():
    pairs = model_file.parse_pairs(["a=1", "b=[1,2]", 'c="x"', "d=float16", "e=null"], "--k")
    assert pairs == {"a": 1, "b": [1, 2], "c": "x", "d": "float16", "e": None}
    for bad in ("a", "1=2", "a={", "a=b c"):
        with pytest.raises(CliError, match="--k"):
            model_file.parse_pairs([bad], "--k")


def test_extents():
    assert model_file.parse_extents(["batch=1,4", "x=2x3"], "--s") == {"batch": [1, 4], "x": [2, 3]}
    for bad in ("batch", "batch=", "batch=-1", "=3"):
        with pytest.raises(CliError, match="--s"):
            model_file.parse_extents([bad], "--s")
