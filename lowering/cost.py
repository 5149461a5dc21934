"""What a placed node costs on a target: cycles of one SM for one CTA, from the target's throughputs.

A cost is a vector over the pipes of the SM; `scalar` is the one place where it becomes a number. Latencies that nothing
hides (a load straight into registers inside a loop, a conversion through shared memory) are added as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ir.core import TileError
from lowering.atoms.pairs import F32X2, share
from lowering.layouts.access import ThreadPart
from lowering.layouts.f2 import Echelon
from lowering.targets.target import WARP, Target

SECTOR = 32  # bytes that global memory moves at once; CUDA C++ Best Practices Guide, coalesced access
UNKNOWN_TRIPS = 32  # a loop whose count is not known: long enough that its body outweighs what stands around it
DIVISION = 20  # integer instructions of a 32-bit division by a variable, beside MUFU; sm_80 SASS of ptxas 13.5
RAGGED = 7  # more instructions of a cp.async that may copy a prefix: count, address shift; sm_80 SASS of ptxas 13.5
DOUBLE = 64  # bits of f64, which has a pipe of its own
ADDRESS = 3  # instructions around one global access (bounds, pointer); counted likewise


@dataclass(frozen=True, slots=True)
class Cost:
    """SM cycles by pipe, for the whole CTA and one execution; `latency` is waiting that overlaps with nothing.

    parts: what each unit (a pipe of `Throughput`, `issue`, `shared` or `global`) is busy for; of `memory` they may
    overlap. Extraction reads the sums, schedules the parts.
    """

    tensor: float = 0.0
    alu: float = 0.0
    memory: float = 0.0
    latency: float = 0.0
    parts: tuple[tuple[str, float], ...] = ()

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.tensor + other.tensor,
            self.alu + other.alu,
            self.memory + other.memory,
            self.latency + other.latency,
            self.parts + other.parts,
        )

    def uses(self) -> dict[str, float]:
        """Cycles by unit."""
        found: dict[str, float] = {"tensor": self.tensor} if self.tensor else {}
        for unit, cycles in self.parts:
            found[unit] = found.get(unit, 0.0) + cycles
        return found

    def scalar(self) -> float:
        """One number to minimise: the pipes overlap only in part, so their sum orders programs as their time does."""
        return self.tensor + self.alu + self.memory + self.latency


FREE = Cost()
_PIPES: dict[str, tuple[str, float]] = {
    # mnemonic: pipe, instructions an element. Counts are those of the PTX printer, or of sm_80 SASS by ptxas 13.5.
    **dict.fromkeys(("addf", "subf", "mulf", "fma", "maxf", "minf"), ("fma_f32", 1.0)),
    **dict.fromkeys(("addi", "subi", "negi", "andi", "ori", "xori", "mini", "maxi", "absi"), ("int_add", 1.0)),
    **dict.fromkeys(("shli", "shri", "select", "cmpi", "cmpf", "absf", "negf"), ("int_add", 1.0)),
    **dict.fromkeys(("exti", "trunci", "bitcast"), ("int_add", 1.0)),
    **dict.fromkeys(("int_to_ptr", "ptr_to_int", "ptr_to_ptr", "get_global"), ("int_add", 1.0)),
    "muli": ("int_mul", 1.0),
    "mulhii": ("int_mul", 1.0),
    "fpowi": ("fma_f32", 85.0),
    "remf": ("fma_f64", 60.0),
    "ftof": ("convert", 1.0),
    "itof": ("convert", 1.0),
    "ftoi": ("convert", 1.0),
    "floor": ("convert", 1.0),
    "ceil": ("convert", 1.0),
    "offset": ("int_add", 2.0),
    "get_index_space_shape": ("int_add", DIVISION),
}
_FUNCTIONS: dict[str, tuple[int, int, int]] = {
    # mnemonic and modifiers: instructions an element on mufu, fma_f32 and int_add. Counted in sm_80 SASS of ptxas 13.5,
    # on the path that ordinary numbers take. Without ftz subnormals are scaled up before MUFU and down behind it.
    "exp2": (1, 3, 0),
    "exp2.ftz": (1, 0, 0),
    "exp": (1, 6, 1),
    "exp.approx": (1, 4, 0),
    "log": (2, 20, 5),
    "log2": (2, 20, 5),
    "rsqrt": (1, 3, 0),
    "rsqrt.ftz": (1, 0, 0),
    "sqrt": (1, 4, 5),
    "sqrt.approx": (1, 3, 0),
    "sqrt.approx.ftz": (1, 0, 0),
    "tanh": (2, 11, 1),
    "tanh.approx": (1, 0, 0),
    "sin": (0, 16, 5),  # of arguments below 105615
    "cos": (0, 16, 6),
    "tan": (1, 24, 4),
    "sinh": (2, 17, 2),
    "cosh": (2, 9, 1),
    "atan2": (2, 23, 8),
    "pow": (5, 69, 10),
    "divi": (3, 0, DIVISION),  # with I2F and F2I, which run at the rate of MUFU, as it does
    "remi": (3, 0, DIVISION - 1),
    "divi.constant": (0, 0, 3),  # a high product, a shift, the sign
    "remi.constant": (0, 0, 4),  # and a product that is subtracted
    "divf": (2, 5, 3),  # with FCHK, which says whether the short path will do
    "divf.full": (1, 7, 0),
    "divf.full.ftz": (1, 4, 0),
    "divf.approx": (1, 4, 0),
    "divf.approx.ftz": (1, 1, 0),
    "ftof.f4": (0, 1, 13),  # to f4E2M1FN without an instruction for it; sm_90a
    # of f64, whose float instructions take the pipe of f64; sin, cos and tan of arguments below 2^30
    "f64.exp2": (0, 22, 20),
    "f64.exp": (0, 21, 20),
    "f64.log": (2, 31, 25),
    "f64.log2": (2, 31, 25),
    "f64.rsqrt": (2, 13, 20),
    "f64.sqrt": (1, 8, 12),
    "f64.tanh": (1, 30, 28),
    "f64.sin": (0, 32, 20),
    "f64.cos": (0, 32, 20),
    "f64.tan": (1, 40, 24),
    "f64.sinh": (1, 36, 40),
    "f64.cosh": (1, 30, 28),
    "f64.atan2": (1, 45, 35),
    "f64.pow": (4, 90, 60),
    "f64.fpowi": (4, 85, 60),
    "f64.remf": (1, 24, 30),  # of one turn: operands less than 2^40 apart
    "f64.divf": (1, 8, 10),
}
_FREE = frozenset((
    "make_tensor_view", "make_partition_view", "make_token", "join_tokens", "get_tensor_shape", "get_tile_block_id",
    "get_num_tile_blocks",
))  # fmt: skip


def _function(mnemonic: str, modifiers: tuple[str, ...]) -> tuple[int, int, int] | None:
    """The counts of the form with these modifiers, or with the first of them that make a difference."""
    forms = (".".join((mnemonic, *modifiers[:kept])) for kept in range(len(modifiers), -1, -1))
    return next((_FUNCTIONS[form] for form in forms if form in _FUNCTIONS), None)


def priced() -> frozenset[str]:
    """The mnemonics that `Machine.elementwise` has a cost for."""
    return _FREE.union(_PIPES, _FUNCTIONS)


@dataclass(frozen=True)
class Machine:
    """A target as seen by a CTA of `warps` warps."""

    target: Target
    warps: int
    _rates: dict[str, float] = field(default_factory=dict[str, float], repr=False)

    def instructions(self, pipe: str, each: float) -> float:
        """Cycles of `each` instructions in every warp on a pipe named as in `Throughput`."""
        rate = self._rates.get(pipe)
        if rate is None:
            rate = self._rates[pipe] = float(getattr(self.target.throughput, pipe))
        return each * self.warps * WARP / rate

    def busy(self, pipe: str, each: float) -> Cost:
        """The cost of `each` instructions in every warp on a pipe."""
        cycles = self.instructions(pipe, each)
        return Cost(alu=cycles, parts=((pipe, cycles),))

    def elementwise(self, mnemonic: str, registers: int, width: int, modifiers: tuple[str, ...] = ()) -> Cost:
        """An arithmetic op on `registers` elements a thread; 16-bit floats go two at a time.

        `modifiers` are those of `approx`, `full` and `ftz` that the op has, in this order, or `f4`, `f32x2`, or
        `constant`. Raises TileError for an op that no table has.
        """
        if mnemonic in _FREE:
            return FREE
        form = _FUNCTIONS.get(f"f64.{mnemonic}") if width == DOUBLE else None
        form = form or _function(mnemonic, modifiers)
        if form is not None:
            float_pipe = "fma_f64" if width == DOUBLE else "fma_f32"
            pipes = zip(("mufu", float_pipe, "int_add"), form, strict=True)
            return sum((self.busy(pipe, each * registers) for pipe, each in pipes if each), FREE)
        if mnemonic not in _PIPES:
            hint = "a rule file may add terms of sort V; one of sort P needs a cost and a lowering of its own"
            raise TileError(f"the cost tables do not know '{mnemonic}'", hint=hint)
        pipe, each = _PIPES[mnemonic]
        if F32X2 in modifiers:
            each *= share(self.target)
        if pipe == "fma_f32" and width == DOUBLE:
            pipe = "fma_f64"
        packed = width == 16 and mnemonic in ("addf", "subf", "mulf", "fma", "maxf", "minf", "negf", "absf")
        count = max(1, registers // 2) if packed else registers
        return self.busy(pipe, each * count)

    def global_access(self, thread: tuple[ThreadPart, ...], contiguous: int, accesses: int, element_bytes: int) -> Cost:
        """`accesses` loads or stores a thread: sectors that a warp touches, and the instructions around each.

        Rows are taken to lie in different sectors. Lane bits that stay inside a sector add none.
        """
        per_sector = SECTOR // element_bytes
        rows: list[int] = []
        for lane in range(len(thread[0].lane) if thread else 0):
            place = 0
            for dim, part in enumerate(thread):
                coordinate = part.lane[lane] // per_sector if dim == contiguous else part.lane[lane]
                place |= coordinate << 24 * dim  # a tile dimension has at most 2^24 elements
            rows.append(place)
        sectors = 1 << Echelon(rows).rank
        busy = accesses * self.warps * sectors * SECTOR / self.target.throughput.global_bytes
        issue = self.instructions("load_store", accesses)
        addresses = self.busy("int_add", ADDRESS * accesses)
        return addresses + Cost(memory=max(busy, issue), parts=(("global", busy), ("load_store", issue)))

    def spill(self, registers: int) -> Cost:
        """`registers` a thread stored to local memory and read back: 4 bytes a lane, whole lines of the L1 cache, which
        is the same memory as shared memory. Whoever reads one back waits for it; what other warps of the scheduler do
        meanwhile hides their share of that.
        """
        hidden = max(1.0, self.warps / self.target.throughput.issue)
        waits = Cost(latency=registers * float(self.target.latency.shared) / hidden)
        return self.shared_access(2 * registers, 2 * registers) + waits

    def shared_access(self, wavefronts: int, accesses: int) -> Cost:
        """Accesses of every warp that take `wavefronts` passes over the banks in all.

        Fewer instructions for the same bytes leave issue slots to others: that is what ldmatrix has over ld.shared.
        """
        passes = wavefronts * self.warps * 128 / self.target.throughput.smem_bytes  # 32 banks of 4 bytes a pass
        slots = accesses * self.warps / self.target.throughput.issue
        issue = self.instructions("load_store", accesses)
        return Cost(alu=slots, memory=max(passes, issue), parts=(("shared", passes), ("load_store", issue)))
