"""The function boundary: each attribute of a kernel, its name in upstream's nvvm, and its PTX directive.

Source of the rows: the seeds' table of kernel attributes; PTX ISA, performance-tuning directives and cluster dimension
directives. `nvvm.blocksareclusters` has no row: the launcher multiplies a grid of tile blocks by the cluster, and the
PTX grid counts CTAs, as with `.reqnctapercluster` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ir.core import TileError
from ir.dialects import llvm
from ir.instruction import Instruction
from ir.records import dataclass
from lowering.atoms.barrier import LEAST_REGISTERS, REGISTER_MARGIN
from lowering.symbols import symbol
from lowering.targets import Feature, target
from lowering.targets.occupancy import occupancy
from lowering.targets.target import PORTABLE

REGISTER_FILE = 65536  # 32-bit registers of an SM on every target; CUDA C++ Programming Guide, technical specifications
CROWD = 3  # with this many CTAs or more, ptxas 13.5 prefers a small spill to fewer CTAs (seen at 168 of 190)


@dataclass(frozen=True)
class Row:
    """One attribute of llvm.func: its origin, its upstream name, and its PTX line, empty for none."""

    attribute: str
    source: str
    upstream: str
    line: Callable[[llvm.Func], str]


def cluster_line(func: llvm.Func) -> str:
    """`.reqnctapercluster`; empty for one CTA, which is the default of every launch."""
    return f".reqnctapercluster {', '.join(map(str, func.cluster))}" if prod(func.cluster) > 1 else ""


def minctas_line(func: llvm.Func) -> str:
    """`.minnctapersm`; left out if the kernel states its starting registers."""
    return f".minnctapersm {func.minctas}" if func.minctas and not func.maxnreg else ""


def registers_line(func: llvm.Func) -> str:
    """If values would not fit in the registers of several CTAs an SM, or the CTAs that fit otherwise have more
    registers than they need, state that one CTA is enough, so that ptxas does not spill. It does not know the dynamic
    shared memory.
    """
    if func.maxnreg or func.minctas or not func.registers:
        return ""
    threads = prod(func.block)
    held = occupancy(target(func.target), threads, LEAST_REGISTERS, func.dynamic_smem).count
    shares = [REGISTER_FILE // (ctas * threads) for ctas in (CROWD, held)]
    return ".minnctapersm 1" if func.registers - REGISTER_MARGIN > shares[0] or func.registers <= shares[1] else ""


TARGET = Row(
    "target", "the target of the compilation", "the target of gpu.module", lambda func: f".target {func.target}"
)
ENTRY = Row("sym_name", "every kernel", "nvvm.kernel", lambda func: f".visible .entry {symbol(func.sym_name)}(")
DIRECTIVES = (
    Row(
        "block",
        "warps of all agents, or of the computing ones",
        "nvvm.reqntid",
        lambda func: f".reqntid {', '.join(map(str, func.block))}",
    ),
    Row("cluster", "the hint `num_cta_in_cga` or `--num-ctas`, in `tileas-plan-cta`", "nvvm.cluster_dim", cluster_line),
    Row(
        "maxnreg",
        "agents that hand registers over",
        "nvvm.maxnreg",
        lambda func: f".maxnreg {func.maxnreg}" if func.maxnreg else "",
    ),
    Row("minctas", "the hint `occupancy`", "nvvm.minctasm", minctas_line),
    Row("registers", "liveness, in `grant-registers`", "nvvm.minctasm = 1", registers_line),
)
"""Between the parameters and the body, in this order."""
ROWS = (TARGET, ENTRY, *DIRECTIVES)


def refuse_boundary(func: llvm.Func) -> None:
    """Raise TileError, located, if the target lacks the clusters."""
    count = prod(func.cluster)
    if count > 1 and not target(func.target).has(Feature.CLUSTER):
        raise TileError(f"clusters of {count} CTAs: {func.target} has no clusters", func.location, "leave cluster out")
    if count > PORTABLE:
        raise TileError(f"clusters of {count} CTAs: at most {PORTABLE} are portable", func.location, "make it smaller")


def version(func: llvm.Func) -> tuple[int, int]:
    """The version of PTX that the text is of: the target's, or a later one that a form of an instruction asks for."""
    known = target(func.target).ptx_version
    asked = (
        op.needs().ptx
        for block in func.body.blocks
        for op in block.ops
        if isinstance(op, Instruction) and type(op).needs is not Instruction.needs
    )
    return max([known, *asked])
