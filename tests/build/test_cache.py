"""The object cache: bounds, order of eviction, leftovers."""

import os
import time

from dinoml.build import ObjectCache


def put(cache, key, size, age):
    with cache.workspace() as folder:
        (folder / "object.o").write_bytes(b"x" * size)
        cache.publish(key, folder)
    then = time.time() - age
    os.utime(cache.folder(key), (then, then))


def test_the_least_recently_used_go_first(tmp_path):
    cache = ObjectCache(tmp_path, max_bytes=10_000)
    for n in range(3):
        put(cache, f"{n}0key", 1000, age=10_000 - n)
    assert cache.find("00key", "object.o")
    assert cache.trim(2000) == 1000
    assert not cache.find("10key", "object.o")
    assert cache.find("00key", "object.o")


def test_the_limit_holds_while_entries_arrive(tmp_path):
    cache = ObjectCache(tmp_path, max_bytes=5000)
    for n in range(20):
        put(cache, f"{n:02d}key", 1000, age=20_000 - n)
    assert sum(e.bytes for e in cache.entries()) <= 6000
    assert cache.find("19key", "object.o")


def test_what_was_just_used_stays(tmp_path):
    cache = ObjectCache(tmp_path, max_bytes=10)
    put(cache, "aakey", 1000, age=0)
    assert cache.trim() == 0
    assert cache.trim(0, min_age=0.0) == 1000


def test_leftovers_of_killed_processes_are_swept(tmp_path):
    cache = ObjectCache(tmp_path)
    for name, age in ((".new-old", 10_000), (".new-young", 10)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    cache.trim()
    assert not (tmp_path / ".new-old").exists()
    assert (tmp_path / ".new-young").exists()


def test_size_and_place_come_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("DINOML_CACHE_DIR", str(tmp_path / "here"))
    monkeypatch.setenv("DINOML_CACHE_SIZE", "3M")
    cache = ObjectCache()
    assert cache.root == tmp_path / "here" / "objects"
    assert cache.max_bytes == 3 << 20
