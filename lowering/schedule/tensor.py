"""Accumulators in tensor memory: what a loop adds up there, it does not carry; the tile is loaded behind the loop.

    for k: acc = A(k) B(k) + acc        becomes        for k: D (+)= A(k) B(k);  commit D;  acc = load D

The first product does not add. One warp of the consumers runs such a loop; all wait for its last product where they
load. Tensor memory is allocated before agents part, and given back when all have loaded what they need.
Source: PTX ISA 8.8, tcgen05; CUTLASS's sm_100 main loop, for one CTA.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ir.core import PURE, Block, Builder, Op, TileError, Value
from ir.dialects import arith, nv_tileas, scf
from ir.types import I1, TensorType
from lowering.atoms.tcgen05 import tensor_named
from lowering.layouts.layout import Layout
from lowering.schedule.rings import Copy


class TensorMemoryError(TileError):
    """A product in tensor memory that other code reads or feeds otherwise than by its loop."""


def place_accumulators(func: nv_tileas.Func) -> int:
    """Rewrite all products in tensor memory of a placed kernel, in place; their number. Raises TensorMemoryError."""
    products = [op for op in func.walk() if isinstance(op, nv_tileas.Dot) and tensor_named(op.atom) is not None]
    if products and prod(func.cluster) > 1:
        refuse(products[0], "the kernel runs in clusters, whose CTAs share what they read")
    if len(products) > 1:
        refuse(products[1], "there is an accumulator in tensor memory already")
    for product in products:
        _Accumulator(func, product).rewrite()
    return len(products)


def refuse(op: Op, why: str) -> None:
    """Raise TensorMemoryError at an op."""
    raise TensorMemoryError(
        f"'{op.name}' cannot be placed in tensor memory: {why}", op.location, "forbid the atom: --forbid tcgen05"
    )


class _Accumulator:
    """One product and the loop that adds it up."""

    def __init__(self, func: nv_tileas.Func, product: nv_tileas.Dot):
        self.func = func
        self.product = product
        loop = None if product.parent is None else product.parent.parent_op
        if not isinstance(loop, scf.For) or loop.parent is not func.body.block:
            refuse(product, "it stands in no loop of the kernel's own")
            raise AssertionError
        self.loop = loop
        self.body: Block = loop.body.block
        self.block = func.body.block
        self.place = self.carried()
        for each in self.body.ops[:-1]:
            copies = isinstance(each, Copy) and each.asynchronous
            renames = isinstance(each, nv_tileas.Permute | nv_tileas.Reshape) and not tiles([*each.results])
            if not (each is product or copies or renames or (each.effect is PURE and not tiles([*each.results]))):
                refuse(product, f"its loop has '{each.name}' too")

    def carried(self) -> int:
        """Its place among what the loop carries, from zero; nothing else there is a tile."""
        product, loop, body = self.product, self.loop, self.body
        if product.c not in body.args[1:]:
            refuse(product, "its loop does not carry what it adds to")
        place = body.args.index(product.c) - 1
        users = [each for each in nested(body) if product.result in each.operands or product.c in each.operands]
        left = body.terminator.operands
        if users != [product, body.terminator] or left[place] is not product.result:
            refuse(product, "its loop uses the sum otherwise too")
        if left.count(product.result) != 1 or tiles([v for i, v in enumerate(loop.init) if i != place]):
            refuse(product, "its loop carries other tiles")
        others = {each for i, each in enumerate(loop.results) if i != place}
        if any(v in others for each in self.func.walk() for v in each.operands):
            refuse(product, "all warps read what else its loop leaves, and one warp runs it")
        begin = loop.init[place].op
        if not isinstance(begin, nv_tileas.Constant) or not begin.value.splat or begin.value.item != 0:
            refuse(product, "its sum does not begin with zeros")
        return place

    def rewrite(self) -> None:
        """The loop without the accumulator, and what stands around it."""
        product, loop, at = self.product, self.loop, self.block.ops.index(self.loop)
        kind = product.result.type
        assert isinstance(kind, TensorType)
        before, behind = Builder(Block(), loop.location), Builder(Block(), loop.location)
        memory = nv_tileas.TensorMemoryType(kind.shape, kind.element)
        d = before.value(nv_tileas.AllocTensorMemory, types=[memory])
        self.add(d)
        result = loop.results[self.place]
        behind.add(nv_tileas.TensorCommit, d, types=())
        known = {"predicate": "ult" if loop.unsigned else "slt"}
        written = behind.value(arith.CmpI, loop.lower, loop.upper, types=[I1], **known)
        tile = behind.value(nv_tileas.TensorLoad, d, written, types=[kind], segments=(1, 1))
        self.drop()
        rest = self.block.ops[at + 1 :]
        for op in (each for top in rest for each in top.walk()):
            op.operands = [tile if v is result else v for v in op.operands]
        self.block.ops[at + 1 : at + 1] = adopted(behind.block, self.block)
        self.block.ops[at:at] = adopted(before.block, self.block)

    def add(self, d: Value) -> None:
        """The product in place of the one that has a result."""
        product, body = self.product, self.body
        b = Builder(Block(), product.location)
        adds = b.value(arith.CmpI, body.args[0], self.loop.lower, types=[I1], predicate="ne")
        more: dict[str, Any] = {"negated": True} if product.negated else {}
        b.add(nv_tileas.TensorDot, product.a, product.b, d, adds, types=(), atom=product.atom, **more)
        at = body.ops.index(product)
        body.ops[at : at + 1] = adopted(b.block, body)

    def drop(self) -> None:
        """The loop no longer carries the accumulator."""
        loop, body, place = self.loop, self.body, self.place
        del body.args[1 + place], body.terminator.operands[place]
        del loop.operands[3 + place], loop.results[place]
        body.terminator.segments = (len(body.terminator.operands),)
        loop.segments = (1, 1, 1, len(loop.operands) - 3)
        for values, first in ((body.args, 0), (loop.results, 0)):
            for index, value in enumerate(values, first):
                value.index = index


def adopted(made: Block, block: Block) -> list[Op]:
    """The ops of a block that become another's."""
    for op in made.ops:
        op.parent = block
    return made.ops


def tiles(values: list[Value]) -> bool:
    """Is one of these a tile that registers hold?"""
    kinds = [v.type for v in values]
    return any(isinstance(kind, TensorType) and isinstance(kind.layout, Layout) and kind.layout.bits for kind in kinds)


def nested(body: Block) -> list[Op]:
    """All ops of a body."""
    return [each for op in body.ops for each in op.walk()]


def multiplies(loop: Op) -> bool:
    """Does a loop begin products in tensor memory? One warp then runs it."""
    return isinstance(loop, scf.For) and any(isinstance(each, nv_tileas.TensorDot) for each in loop.walk())
