"""Collective operations of the lanes of a warp and the warps of a warpgroup; coordinates of threads and CTAs."""

from __future__ import annotations

from ir.core import WRITE, Attr, Operand, Result, flag, same_type_as
from ir.dialects.gpu import DIMENSIONS
from ir.dialects.nvvm.numbers import INTEGER, SINGLE
from ir.instruction import PREDICATE, REGISTER_32, SM_80, SM_90, WORD, Instruction, Needs, instruction, register_bits

ARCH_SPECIFIC = frozenset({"sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a"})
"""Targets with setmaxnreg. Source: PTX ISA 8.8, setmaxnreg; ptxas 13.5 accepts it for each of them."""


class SpecialRegister(Instruction):
    """Shape shared by the reads of thread and CTA coordinates."""

    result = Result(WORD)


def _special(kind: str, dimension: str) -> type[SpecialRegister]:
    """Declare nvvm.read.ptx.sreg.<kind>.<dimension>."""
    name = f"{kind}.{dimension}"
    cls = type(f"Read_{kind}_{dimension}", (SpecialRegister,), {"__doc__": f"%{name}."})
    declare = instruction(
        f"nvvm.read.ptx.sreg.{name}",
        f"mov.u32 {{result}}, %{name};",
        SM_80,
        upstream=True,
        source="PTX ISA 8.8, Special Registers",
    )
    return declare(cls)


def _cluster_register(name: str, ptx: str) -> type[SpecialRegister]:
    """Declare nvvm.read.ptx.sreg.<name>."""
    cls = type(f"Read_{ptx}".replace(".", "_"), (SpecialRegister,), {"__doc__": f"%{ptx}."})
    declare = instruction(
        f"nvvm.read.ptx.sreg.{name}",
        f"mov.u32 {{result}}, %{ptx};",
        CLUSTERS,
        upstream=True,
        source="PTX ISA 8.8, Special Registers",
    )
    return declare(cls)


CLUSTERS = Needs(90, (7, 8))
CLUSTER_REGISTERS = {
    **{name: _cluster_register(name, ptx) for name, ptx in (
        ("cluster.ctarank", "cluster_ctarank"), ("cluster.nctarank", "cluster_nctarank"),
    )},
    **{f"{name}.{d}": _cluster_register(f"{name}.{d}", f"{ptx}.{d}") for d in DIMENSIONS for name, ptx in (
        ("cluster.ctaid", "cluster_ctaid"), ("cluster.nctaid", "cluster_nctaid"), ("clusterid", "clusterid"),
        ("nclusterid", "nclusterid"),
    )},
}  # fmt: skip
"""Op class by name: the CTA's place in its cluster, the cluster's in the grid."""
SPECIAL_REGISTERS = {(k, d): _special(k, d) for k in ("tid", "ctaid", "nctaid", "ntid") for d in DIMENSIONS}
"""Op class by (tid, ctaid, nctaid or ntid; dimension)."""


@instruction(
    "nvvm.shfl.sync",
    "shfl.sync.{kind}.b32 {result}, {value:register}, {offset}, {clamp}, -1;",
    SM_80,
    source="PTX ISA 8.8, shfl.sync",
)
class ShflSync(Instruction):
    """A 32-bit value of another lane, with all lanes participating; `clamp` is PTX's operand c."""

    value = Operand(REGISTER_32)
    offset = Operand(WORD)
    kind = Attr(str, among=("bfly", "up", "down", "idx"))
    clamp = Attr(int, least=0, most=(1 << 13) - 1)
    result = same_type_as("value")
    effect = WRITE  # convergent: keeps its position among effects


@instruction(
    "nvvm.elect.sync", "elect.sync _|{result}, -1;", SM_90, source="PTX ISA 8.8, elect.sync", seed="nvgpu.elect"
)
class ElectSync(Instruction):
    """True in one lane of the warp, the same at every execution; all 32 lanes participate."""

    result = Result(PREDICATE)
    effect = WRITE  # convergent


@instruction(
    "nvvm.setmaxregister",
    "setmaxnreg.{way}.sync.aligned.u32 {regCount};",
    Needs(90, (8, 0), ARCH_SPECIFIC),
    source="PTX ISA 8.8, setmaxnreg",
    seed="nvgpu.setmaxnreg",
)
class SetMaxRegister(Instruction):
    """All warps of a warpgroup release ("decrease") or wait for registers, so that each thread has `regCount`."""

    regCount = Attr(int, least=24, most=256)
    action = Attr(str, among=("increase", "decrease"))
    effect = WRITE

    @property
    def way(self) -> str:
        """PTX's word for the action."""
        return self.action[:3]

    def verify(self) -> None:
        """Registers come in eights."""
        self.expect(self.regCount % 8 == 0, "regCount must be a multiple of 8, is {}", self.regCount)


# The warp as a whole


@instruction("nvvm.redux.sync", "", SM_80, source="PTX ISA 8.8, redux.sync")
class Redux(Instruction):
    """The same in all lanes: the reduction of the values of all 32 lanes."""

    value = Operand(WORD)
    kind = Attr(str, among=("add", "umin", "umax", "min", "max", "and", "or", "xor"))
    result = Result(WORD)
    effect = WRITE  # convergent

    @property
    def text(self) -> str:
        """The type determines how integers are interpreted."""
        letter = "b" if self.kind in ("and", "or", "xor") else "u" if self.kind[0] == "u" else "s"
        return f"redux.sync.{self.kind.removeprefix('u')}.{letter}32 {{result}}, {{value:register}}, -1;"


FLOAT_REDUX = Needs(100, (8, 6), frozenset({"sm_100a", "sm_103a"}))


@instruction(
    "nvvm.redux.sync.float",
    "redux.sync.{kind}{abs?.abs}{nan?.NaN}.f32 {result}, {value:register}, -1;",
    FLOAT_REDUX,
    source="PTX ISA 8.8, redux.sync",
)
class FloatRedux(Instruction):
    """The minimum or maximum f32 of all 32 lanes; `nan`: NaN if any is NaN, `abs`: of magnitudes."""

    value = Operand(SINGLE)
    kind = Attr(str, among=("min", "max"))
    abs = flag()
    nan = flag()
    result = Result(SINGLE)
    effect = WRITE  # convergent


@instruction(
    "nvvm.vote.sync", "vote.sync.{kind}.pred {result}, {pred:register}, -1;", SM_80, source="PTX ISA 8.8, vote.sync"
)
class Vote(Instruction):
    """Whether the predicate holds in all lanes, in any, or is the same in all."""

    pred = Operand(PREDICATE)
    kind = Attr(str, among=("all", "any", "uni"))
    result = Result(PREDICATE)
    effect = WRITE  # convergent


@instruction(
    "nvvm.vote.ballot.sync",
    "vote.sync.ballot.b32 {result}, {pred:register}, -1;",
    SM_80,
    source="PTX ISA 8.8, vote.sync",
)
class Ballot(Instruction):
    """A bit of each lane: its predicate."""

    pred = Operand(PREDICATE)
    result = Result(WORD)
    effect = WRITE  # convergent


@instruction(
    "nvvm.match.any.sync",
    "match.any.sync.b{bits} {result}, {value:register}, -1;",
    SM_80,
    source="PTX ISA 8.8, match.sync",
)
class MatchAny(Instruction):
    """The lanes that hold the same value, one bit each."""

    value = Operand(INTEGER)
    result = Result(WORD)
    effect = WRITE  # convergent

    @property
    def bits(self) -> int:
        """Width of the value."""
        return register_bits(self.value.type)


@instruction("nvvm.bar.warp.sync", "bar.warp.sync {mask};", SM_80, source="PTX ISA 8.8, bar.warp.sync")
class SyncWarp(Instruction):
    """Barrier of the lanes of the mask; shared and global memory is consistent among them afterwards."""

    mask = Operand(WORD)
    effect = WRITE
