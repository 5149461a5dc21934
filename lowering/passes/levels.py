"""The levels of the pipeline: what each is, how it prints, whether `tilesat opt` reads it, which operations it may
hold.
"""

from __future__ import annotations

from dataclasses import field

from ir.core import Op, VerifyError
from ir.dialects.cuda_tile import Entry
from ir.levels import LEVEL_OF
from ir.records import dataclass
from lowering.passes.registry import loaded

BEFORE_SCHEDULING = ("nv_tileas.tiled_copy", "nv_tileas.gather_copy", "nv_tileas.hold", "nv_tileas.staged_store")
"""Operations that scheduling replaces, by giving them a time and a place in memory."""
PIPELINED = tuple(
    f"nv_tileas.async.pipeline.{name}"
    for name in (
        "consume_one",
        "consumer_read",
        "consumer_release",
        "consumer_wait",
        "create_iterator",
        "create_none",
        "advance_iter",
        "inc_iter",
        "produce_one",
        "producer_acquire",
        "producer_commit",
        "producer_write",
        "yield",
    )
)
"""Operations that scheduling creates, and pipeline lowering removes."""
BARRIERS = tuple(f"nv_tileas.async.mbarrier_{name}" for name in ("arrive", "arrive_copies", "expect_tx", "wait"))
"""Operations that pipeline lowering creates."""
SCHEDULED = tuple(
    f"nv_tileas.{name}"
    for name in (
        "alloc_tensor", "buffer_view", "write_buffer", "async.agent_switch", "async.commit", "async.create_channel",
        "async.dot_wait", "async.fence", "async.gather_copy", "async.pipeline.create_pipeline", "async.receive",
        "async.send", "async.tiled_copy", "async.tiled_tma_load", "async.tiled_tma_store", "async.wait",
    )
)  # fmt: skip
"""Operations that scheduling creates and that remain."""


@dataclass(frozen=True)
class Level:
    """One level. `printer` is MODULE:FUNCTION of (program, context) -> text; operations of `dialects` are legal, except
    those in `illegal`, and so are those in `borrowed`; a level without dialects has no operations.
    """

    name: str
    meaning: str
    printer: str
    reads: bool = False
    dialects: frozenset[str] = frozenset()
    illegal: frozenset[str] = frozenset()
    borrowed: frozenset[str] = frozenset()
    known: dict[type[Op], bool] = field(default_factory=dict[type[Op], bool], compare=False, repr=False)

    def text(self, program: object, context: object) -> str:
        """A program of this level as text; `context` is that of its passes (`lowering.passes.manager`)."""
        return loaded(self.printer)(program, context)

    def legal(self, kind: type[Op]) -> bool:
        """May it hold this kind of operation?"""
        found = self.known.get(kind)
        if found is None:
            name = kind.info.name
            found = name in self.borrowed or (name.partition(".")[0] in self.dialects and name not in self.illegal)
            self.known[kind] = found
        return found

    def refuse_illegal(self, program: Op, after: str = "") -> None:
        """Raise VerifyError, located, for the first operation that is not legal at the level, left by pass `after` or
        read from a file.
        """
        if all(map(self.legal, kinds(program))):
            return
        left = next(op for op in program.walk() if not self.legal(type(op)))
        hint = f"{self.name} holds operations of {', '.join(sorted(self.dialects))}"
        if left.name in self.illegal:
            hint = "an unscheduled kernel has placed = true, one with pipelines has pipelined = true"
        where = f"after {after}" if after else f"in {self.name}"
        raise VerifyError(f"'{left.name}' is not legal {where}", left.location, hint)


def kinds(program: Op) -> set[type[Op]]:
    """The classes of all operations of a program; without the generators of `walk`, since every compilation asks."""
    found: set[type[Op]] = set()
    waiting = [program]
    while waiting:
        op = waiting.pop()
        found.add(type(op))
        for region in op.regions:
            for block in region.blocks:
                found.update(map(type, block.ops))
                waiting += [each for each in block.ops if each.regions]
    return found


PRINTERS = "lowering.passes.text"
POINTERS = frozenset({"llvm.bitcast", "llvm.getelementptr", "llvm.inttoptr", "llvm.ptrtoint"})
"""Pointer arithmetic that applies to tiles too."""
TILES = frozenset({"nv_tileas", "arith", "math", "scf"})

LEVELS: dict[str, Level] = {
    each.name: each
    for each in (
        Level("cuda_tile", "the source: tiles, views, tokens, loops", f"{PRINTERS}:source", True,
              frozenset({"cuda_tile"})),
        Level("nv_tileaa", "the same in upstream's terms: tensors, memrefs", f"{PRINTERS}:operations", True,
              frozenset({"nv_tileaa", "arith", "math", "scf"})),
        Level("encoded", "the kernel as rows of the e-graph's tables, with its skeleton of effects",
              f"{PRINTERS}:encoded"),
        Level("egraph", "the saturated e-graph", f"{PRINTERS}:egraph"),
        Level("chosen", "one node for each class that the cheapest program needs", f"{PRINTERS}:chosen"),
        Level("placed", "nv_tileas before scheduling: tiles in layouts, copies not yet scheduled or buffered",
              f"{PRINTERS}:operations", True, TILES,
              frozenset((*SCHEDULED, *PIPELINED, *BARRIERS)), POINTERS),
        Level("pipelined", "nv_tileas with pipelines: regions that fill or read a stage, iterators that select which",
              f"{PRINTERS}:operations", True, TILES, frozenset((*BEFORE_SCHEDULING, *BARRIERS)), POINTERS),
        Level("nv_tileas", "tiles in layouts, with buffers, rings, barriers and agents", f"{PRINTERS}:operations", True,
              TILES, frozenset((*BEFORE_SCHEDULING, *PIPELINED)), POINTERS),
        Level("nvgpu", "the code of one thread, instructions among it", f"{PRINTERS}:operations", True,
              frozenset({"nvgpu", "nvvm", "gpu", "arith", "math", "scf", "ub", "vector", "llvm"})),
        Level("nvvm", "a control-flow graph, one operation an instruction or nearly", f"{PRINTERS}:operations", True,
              frozenset({"nvvm", "llvm"})),
        Level("machine", "PTX instructions whose registers have no names yet", f"{PRINTERS}:machine"),
        Level("ptx", "text for ptxas", f"{PRINTERS}:ptx"),
        Level("llvm", "off the main pipeline: a module of upstream MLIR for its NVPTX back end", f"{PRINTERS}:ptx"),
    )
}  # fmt: skip
"""From top to bottom."""


def level_of(program: Op) -> str:
    """The level of a kernel that was read. Raises VerifyError for an operation that is not a kernel."""
    if isinstance(program, Entry):
        return "cuda_tile"
    if program.attributes.get("placed", False):
        return "placed"
    if program.attributes.get("pipelined", False):
        return "pipelined"
    if program.name not in LEVEL_OF:
        kernels = ", ".join(f"'{name}' ({level})" for name, level in LEVEL_OF.items())
        raise VerifyError(f"'{program.name}' is not a kernel of a level", program.location, f"kernels are {kernels}")
    return LEVEL_OF[program.name]
