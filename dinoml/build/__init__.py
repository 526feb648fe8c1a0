"""From C++ sources to objects and a shared library, through a cache keyed by content."""

from dinoml.build.cache import ObjectCache
from dinoml.build.compile import BuildEvent, Compiled, Progress, compile_objects, compile_sources
from dinoml.build.errors import BuildError, ToolchainError
from dinoml.build.link import link_shared
from dinoml.build.source import Source, kernel_source, module_source, runtime_sources
from dinoml.build.toolchain import Toolchain, find_toolchain

__all__ = [
    "BuildError", "BuildEvent", "Compiled", "ObjectCache", "Progress", "Source", "Toolchain", "ToolchainError", "compile_objects",
    "compile_sources", "find_toolchain", "kernel_source", "link_shared", "module_source", "runtime_sources",
]  # fmt: skip
