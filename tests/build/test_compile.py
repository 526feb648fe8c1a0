"""Compiling and linking: what is cached, what invalidates it, what failures say."""

import ctypes
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from dinoml.build import BuildError, Source, compile_objects, compile_sources, kernel_source, link_shared, runtime_sources
from dinoml.build.source import KERNEL_PREFIX
from dinoml.targets import Target

TARGET = Target("cpu", "x86-64-v2")


def plain(name, text):
    """A source that compiles fast."""
    return Source(name, text, ("-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden"))


def api(value):
    return plain("api.cpp", f'extern "C" __attribute__((visibility("default"))) int dinoml_get_api() {{ return {value}; }}')


def test_an_object_is_compiled_once(toolchain, cache):
    first = compile_sources([plain("a.cpp", "int a() { return 1; }")], toolchain, cache=cache)[0]
    second = compile_sources([plain("b.cpp", "int a() { return 1; }")], toolchain, cache=cache)[0]
    assert not first.cached
    assert second.cached
    assert first.path == second.path
    assert second.seconds == first.seconds > 0


def test_order_is_kept_and_equal_sources_share_an_object(toolchain, cache):
    sources = [plain(f"{n}.cpp", f"int f{n % 2}() {{ return {n % 2}; }}") for n in range(4)]
    events = []
    paths = compile_objects(sources, toolchain, jobs=2, progress=events.append, cache=cache)
    assert paths[0] == paths[2] != paths[1] == paths[3]
    assert [(e.done, e.total) for e in events] == [(1, 2), (2, 2)]


def test_the_key_is_stored_in_named_parts_with_the_source(toolchain, cache):
    made = compile_sources([kernel_source("k.cpp", "int k;", TARGET, toolchain)], toolchain, cache=cache)[0]
    record = json.loads((made.path.parent / "key.json").read_text())
    assert set(record["key"]) == {"schema", "compiler", "flags", "prefix", "source", "includes"}
    assert "dinoml/vec.h" in record["key"]["includes"]
    assert (made.path.parent / "k.cpp").read_text() == "int k;"


@pytest.mark.parametrize(
    "change",
    [
        lambda s, t: (replace(s, text=s.text + "\n"), t),
        lambda s, t: (replace(s, flags=(*s.flags, "-g0")), t),
        lambda s, t: (replace(s, prefix="int p;\n"), t),
        lambda s, t: (s, replace(t, identity=t.identity + " patched")),
    ],
    ids=["source", "flags", "prefix", "compiler"],
)
def test_each_part_of_the_key_makes_another_object(toolchain, cache, change):
    source = plain("a.cpp", "int a;")
    key = compile_sources([source], toolchain, cache=cache)[0].key
    assert compile_sources([(changed := change(source, toolchain))[0]], changed[1], cache=cache)[0].key != key


def test_a_header_two_includes_away_counts(toolchain, cache, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner.h").write_text("constexpr int value = 1;\n")
    (tmp_path / "outer.h").write_text('#pragma once\n#  include "sub/inner.h"\n#include <cstdint>\n')
    source = replace(plain("a.cpp", '#include "outer.h"\nint a() { return value; }'), folder=tmp_path)
    first = compile_sources([source], toolchain, cache=cache)[0]
    (tmp_path / "sub" / "inner.h").write_text("constexpr int value = 22;\n")
    second = compile_sources([source], toolchain, cache=cache)[0]
    assert not second.cached
    assert first.path.read_bytes() != second.path.read_bytes()


def test_a_damaged_object_is_compiled_again(toolchain, cache):
    source = plain("a.cpp", "int a() { return 1; }")
    made = compile_sources([source], toolchain, cache=cache)[0]
    whole = made.path.read_bytes()
    made.path.write_bytes(whole[: len(whole) // 2])
    again = compile_sources([source], toolchain, cache=cache)[0]
    assert not again.cached
    assert again.path.read_bytes() == whole


def test_a_failure_names_command_errors_and_kept_source(toolchain, cache):
    text = "int good;\nint bad( { return 1; }\n"
    with pytest.raises(BuildError, match=r"bad\.cpp does not compile") as caught:
        compile_sources([plain("bad.cpp", text)], toolchain, cache=cache)
    error = caught.value
    assert "bad.cpp:2" in str(error)
    assert "error:" in str(error)
    assert error.source.read_text() == text
    kept = subprocess.run(error.command, shell=True, cwd=error.source.parent, capture_output=True, text=True, check=False)
    assert kept.returncode != 0
    assert kept.stderr == error.log
    assert not list(cache.root.glob(".new-*"))


def test_a_failure_stops_what_has_not_begun(toolchain, cache):
    sources = [plain("bad.cpp", "int bad(")] + [plain(f"{n}.cpp", f"int x{n};") for n in range(20)]
    with pytest.raises(BuildError):
        compile_sources(sources, toolchain, jobs=1, cache=cache)
    assert len(cache.entries()) < 10


def test_kernels_that_run_rarely_are_compiled_sooner(toolchain):
    often, rarely = (kernel_source("k.cpp", "int k;", TARGET, toolchain, rare=rare).flags for rare in (False, True))
    assert ("-O3" in often, "-O3" in rarely, "-O1" in rarely) == (True, False, True)
    assert set(often) ^ set(rarely) == {"-O3", "-O1"}


def test_a_compiled_prefix_changes_no_object(toolchain, cache, tmp_path):
    body = 'extern "C" int k%d(const dml_ctx*) { return DML_REGISTER; }\n'
    sources = [kernel_source(f"k{n}.cpp", body % n, TARGET, toolchain) for n in range(3)]
    together = [p.read_bytes() for p in compile_objects(sources, toolchain, cache=cache)]
    assert list(cache.root.glob("*/*/prefix.h.gch")) or toolchain.kind != "gcc"
    alone = [compile_objects([s], toolchain, cache=type(cache)(tmp_path / str(n)))[0].read_bytes() for n, s in enumerate(sources)]
    text = KERNEL_PREFIX + sources[0].text
    assert together == alone
    assert compile_objects([replace(sources[0], text=text, prefix="")], toolchain, cache=cache)[0].stat().st_size


def test_an_unusable_compiled_prefix_is_no_failure(toolchain, cache):
    sources = [kernel_source(f"k{n}.cpp", f"int k{n};", TARGET, toolchain) for n in range(3)]
    compile_objects(sources, toolchain, cache=cache)
    for compiled in cache.root.glob("*/*/prefix.h.gch"):
        compiled.write_bytes(b"not a precompiled header" * 100)
        (compiled.parent / "prefix.h").write_text("#error replaced\n")
    more = [kernel_source(f"m{n}.cpp", f"int m{n};", TARGET, toolchain) for n in range(3)]
    assert all(not c.cached for c in compile_sources(more, toolchain, cache=cache))


def test_threads_and_processes_share_a_cache(toolchain, cache):
    source = plain("slow.cpp", "#include <map>\n#include <string>\nint slow() { return int(std::map<std::string, int>{}.size()); }")
    results = []
    threads = [threading.Thread(target=lambda: results.append(compile_sources([source], toolchain, cache=cache)[0])) for _ in range(4)]
    program = (
        "import sys; from pathlib import Path; from dinoml.build import *; t = find_toolchain();"
        "print(compile_sources([Source('slow.cpp', sys.argv[2], tuple(sys.argv[3:]))], t, cache=ObjectCache(Path(sys.argv[1])))[0].cached)"
    )
    command = [sys.executable, "-c", program, str(cache.root), source.text, *source.flags]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    compiled = [not r.cached for r in results] + [p.communicate()[0].strip() == "False" for p in processes]
    assert all(p.returncode == 0 for p in processes)
    assert sum(compiled) == 1
    assert len({r.path for r in results}) == 1


def test_a_library_exports_one_symbol_and_is_reproducible(toolchain, cache, tmp_path):
    text = '#include <string>\nint helper() { return int(std::string("four").size()); }\nextern "C" int also_hidden() { return 1; }'
    helper = plain("helper.cpp", text)
    objects = compile_objects([api("42"), helper], toolchain, cache=cache)
    one = link_shared(objects, tmp_path / "one" / "module.so", toolchain)
    two = link_shared(objects, tmp_path / "two" / "module.so", toolchain)
    assert one.read_bytes() == two.read_bytes()
    assert str(tmp_path).encode() not in one.read_bytes()
    assert ctypes.CDLL(str(one)).dinoml_get_api() == 42
    listing = subprocess.run(["nm", "-D", "--defined-only", str(one)], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in listing.splitlines()] == ["dinoml_get_api"]
    needed = subprocess.run(["readelf", "-d", str(one)], capture_output=True, text=True, check=True).stdout
    assert "libstdc++" not in needed
    assert sorted(p.name for p in one.parent.iterdir()) == ["module.so"]


def test_a_missing_symbol_fails_at_link_time(toolchain, cache, tmp_path):
    text = 'int elsewhere(); extern "C" __attribute__((visibility("default"))) int dinoml_get_api() { return elsewhere(); }'
    objects = compile_objects([plain("api.cpp", text)], toolchain, cache=cache)
    with pytest.raises(BuildError, match="elsewhere"):
        link_shared(objects, tmp_path / "module.so", toolchain)
    assert not list(tmp_path.glob("module.so"))


def test_linking_replaces_a_loaded_library_without_touching_it(toolchain, cache, tmp_path):
    out = tmp_path / "module.so"
    link_shared(compile_objects([api("1")], toolchain, cache=cache), out, toolchain)
    old = ctypes.CDLL(str(out))
    link_shared(compile_objects([api("2")], toolchain, cache=cache), out, toolchain)
    assert old.dinoml_get_api() == 1


def test_the_runtime_compiles_for_any_cpu(toolchain):
    sources = runtime_sources(toolchain)
    assert not any(flag.startswith("-m") for source in sources for flag in source.flags)
    assert len(compile_objects(sources, toolchain)) == len(sources)
