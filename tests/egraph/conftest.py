from dataclasses import dataclass

import pytest

from egraph.encode import EncodedProgram, encode
from egraph.saturate import Saturated, saturate
from ir.text import parse


@dataclass
class Kernel:
    """A saturated kernel whose values are looked up by their names in the text."""

    program: EncodedProgram
    result: Saturated

    def cls(self, name):
        names = {v.name: k for k, v in enumerate(self.program.values) if v is not None and v.name}
        return self.result.frozen.class_of(names[name])

    def same(self, left, right):
        return self.cls(left) == self.cls(right)

    def instead(self, left, right):
        """May a permission let the second stand for the first?"""
        return (self.cls(left), self.cls(right)) in self.result.frozen.relations.get("instead", [])

    def fact(self, analysis, name, *dimension):
        key = (self.cls(name), *dimension) if dimension else self.cls(name)
        return self.result.frozen.analysis[analysis].get(key)

    def nodes(self, name):
        return self.result.frozen.by_class[self.cls(name)]

    def ops(self, name):
        return {node.op for node in self.nodes(name)}

    def splat(self, name):
        """The integer that a value is known to be, or None."""
        return next((node.args[0] for node in self.nodes(name) if node.op == "splat"), None)


@pytest.fixture(scope="session")
def kernel():
    def build(parameters, body, **options):
        text = f"cuda_tile.module @m {{ entry @k({parameters}) {{\n{body}\n return\n }} }}"
        program = encode(parse(text))
        return Kernel(program, saturate(program, **options))

    return build
