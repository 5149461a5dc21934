"""The names of atoms, by which a caller can forbid them: matrix instructions, and data movement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from ir.core import TileError
from ir.dialects.nv_tileas import Dot, Func
from lowering.atoms.bytes import BYTES
from lowering.atoms.copy import BYTE_MATRICES, WIDE_LOAD, WIDE_STORE
from lowering.atoms.evictions import NAME as EVICTION
from lowering.atoms.folds import MINMAX3
from lowering.atoms.lanes import REDUX
from lowering.atoms.mma import MMA_ATOMS
from lowering.atoms.pairs import F32X2
from lowering.atoms.powers import EXP2_FMA
from lowering.atoms.reciprocals import RCP
from lowering.atoms.tcgen05 import BY_AGENT, BY_AGENT_READ, every_tensor_atom
from lowering.atoms.tma import PARTS, PREFETCH, TMA_REDUCE
from lowering.atoms.wgmma import IMM_SCALE, every_wgmma

MOVES = (
    "cp.async", "ldmatrix", BYTE_MATRICES.name, "st.global", "st.shared", "stmatrix", "tma", "tma.store", PARTS,
    TMA_REDUCE, PREFETCH,
)  # fmt: skip
"""Data movement; `tma` alone is tensor copies in both directions, `st.global` stores of any width."""
ARITHMETIC = (F32X2, MINMAX3, REDUX, RCP, IMM_SCALE, EXP2_FMA, BYTES)
"""Instructions that replace several: on pairs of f32, on three operands, on all lanes of a warp; reciprocals instead of
quotients, warpgroup products that negate a factor; powers of two without ex2, in part; bytes as mantissas of floats.
"""

PEELING = "loop.peel"
"""Loops split at the iterations in which their masks are all true."""
SCALING = "loop.scale"
"""Scales of factors moved after the loops that accumulate their products (lowering/skeletons/table.py)."""
UNSIGNED = "scales.unsigned"
"""Signs of block-scaled products' scales moved into the factors (lowering/skeletons/table.py)."""
SWAPPED = "product.swapped"
"""Products of few rows as products of their columns (lowering/skeletons/table.py)."""
LANES = "loop.lanes"
"""Reductions of loops carried as tiles, and reduced after them (lowering/skeletons/table.py)."""
ONLINE = "loop.online"
"""Sums of exponentials in the pass that finds their maximum (lowering/skeletons/table.py)."""
ATTENTION = "loop.attention"
"""Products of exponentials in the pass that finds their maximum (lowering/skeletons/table.py)."""
BLOCKS = "loop.blocks"
"""Attention whose scores of a row are one tile as a loop over blocks of keys (lowering/skeletons/table.py)."""
MOMENTS = "loop.moments"
"""Sums of squares about a mean in the pass that finds the mean (lowering/skeletons/table.py)."""
MERGED = "fold.merged"
"""Folds that do not depend on each other as one (lowering/skeletons/table.py)."""
PAIRS = "loop.pairs"
"""Steps of loops joined in pairs, with tiles of twice the size (lowering/skeletons/table.py)."""
LAGGING = "loop.lag"
"""Levels of attention's sums that stay while they rise by little (lowering/skeletons/table.py)."""
STREAM = "grid.stream"
"""Steps of products shared evenly by the CTAs that fit the device (lowering/clusters/stream.py)."""

LOADS_AHEAD = "load.ahead"
"""Loads issued before barriers that they need not come after (lowering/modulo/straight.py)."""
BY_TRANSFORMER = "agent.transform"
"""Tiles that an agent computes for the consumers (lowering/modulo/transforming.py)."""
BY_CORRECTION = "agent.correction"
"""Sums in tensor memory scaled by warps of their own (lowering/schedule/correction.py)."""
OUTER_COPIES = "copy.outer"
"""Tiles copied to shared memory outside of innermost loops."""

BELOW: Mapping[str, tuple[str, ...]] = {
    "tileas-materialize-schedule": (BY_AGENT_READ, BY_CORRECTION),
    "tileas-peel-masks": (PEELING,),
    "tileas-list-schedule": (LOADS_AHEAD,),
    "convert-tileas-to-nvgpu": (PREFETCH,),
    "convert-nvgpu-to-nvvm": (RCP,),
}
"""Names that passes below the e-graph decide on, by the pass: they get them as an option, as extraction does all
others.
"""

OTHERS = (
    *MOVES, *ARITHMETIC, WIDE_LOAD.name, WIDE_STORE.name, EVICTION, PEELING, SCALING, ONLINE, ATTENTION, BLOCKS,
    MOMENTS, PAIRS, LANES, MERGED, SWAPPED, UNSIGNED, LAGGING, LOADS_AHEAD, OUTER_COPIES, BY_AGENT, BY_AGENT_READ,
    BY_TRANSFORMER, BY_CORRECTION, STREAM,
)  # fmt: skip


def every_name() -> Iterator[str]:
    """The names of all atoms."""
    yield from OTHERS
    yield from (atom.name for atom in (*MMA_ATOMS, *every_wgmma(), *every_tensor_atom()))


@cache
def all_names() -> frozenset[str]:
    """Those names, to look up: there are a thousand, which take 10 ms to make."""
    return frozenset(every_name())


def check_products(kernel: Func) -> None:
    """Raises VerifyError, located, for a product of a placed kernel by an unknown atom."""
    for op in kernel.walk():
        if isinstance(op, Dot):
            op.expect(op.atom in all_names(), "there is no atom {}", op.atom)


def check_forbidden(prefixes: Iterable[str]) -> None:
    """Raises TileError for a prefix of no atom's name: it is misspelt, and would forbid nothing."""
    known = list(every_name()) if prefixes else []
    for prefix in prefixes:
        if not any(name.startswith(prefix) for name in known):
            from difflib import get_close_matches  # for errors only

            close = get_close_matches(prefix, ["mma.sync", "wgmma", "tcgen05", *known])
            first = [name for name in sorted(OTHERS) if not any(name.startswith(f"{other}.") for other in OTHERS)]
            others = ", ".join(name for name in first if not name.startswith("tcgen05"))
            families = f"names start with mma.sync, wgmma, tcgen05, fma, mad or one of {others}"
            hint = f"did you mean {' or '.join(close)}?" if close else families
            raise TileError(f"forbid: no atom has a name that starts with {prefix!r}", hint=hint)
