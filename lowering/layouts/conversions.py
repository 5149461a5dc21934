"""The cheapest way from one distributed layout to another: nothing, renamed registers, shuffles, shared memory."""

from __future__ import annotations

from functools import cache

from ir.records import dataclass
from lowering.layouts.access import MAX_BYTES, AccessPlan, LdMatrix, access_plan, ldmatrix
from lowering.layouts.banks import WORD, linear_wavefronts
from lowering.layouts.elements import REGISTER_BITS
from lowering.layouts.f2 import Echelon, common_complement, complete, compose, intersection, invert, log2
from lowering.layouts.layout import LANE_BITS, Layout, LayoutError, vector_bits
from lowering.layouts.shared import SWIZZLE_ROW_BYTES, SharedLayout
from lowering.layouts.shuffles import ShuffleSteps, register_permutation, shuffle_steps
from lowering.targets.sm80 import SM_80
from lowering.targets.target import WARP, Feature, Target

ISSUED_PER_ACCESS = 2  # the access and the XOR that makes its swizzled address; source: the form of AccessPlan


@dataclass(frozen=True, slots=True)
class Identity:
    """The layouts hold the same elements in the same places."""

    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class RegisterPermute:
    """Destination register r is source register reg_map[r] of the same thread: a renaming, no instruction."""

    reg_map: tuple[int, ...]
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Exchange inside warps; `steps` say how. Elements wider than 32 bits are shuffled in 32-bit parts."""

    steps: ShuffleSteps
    cost: float


@dataclass(frozen=True, slots=True)
class SharedRoundTrip:
    """Store to scratch, barrier, load. An LdMatrix as `store` means stmatrix.

    Another barrier must separate the load from the next write to the scratch bytes.
    """

    shared: SharedLayout
    store: AccessPlan | LdMatrix
    load: AccessPlan | LdMatrix
    scratch_bytes: int
    cost: float


Conversion = Identity | RegisterPermute | Shuffle | SharedRoundTrip


@cache
def plan(src: Layout, dst: Layout, element_bits: int, target: Target = SM_80) -> Conversion:
    """The cheapest conversion; its cost is in SM cycles for the whole CTA."""
    if src.bits != dst.bits or len(src.warp) != len(dst.warp):
        raise LayoutError(f"no conversion between tiles or CTAs of different size: {src} and {dst}")
    if src == dst:
        return Identity()
    reg_map = register_permutation(src, dst)
    if reg_map is not None:
        return RegisterPermute(reg_map)
    shuffled = shuffle_plan(src, dst, element_bits, target)
    if shuffled is not None and shuffled.steps.shuffles == 0:
        return shuffled
    through = shared_plan(src, dst, element_bits, target)
    return through if shuffled is None or through.cost < shuffled.cost else shuffled


@cache
def estimate(src: Layout, dst: Layout, element_bits: int, target: Target = SM_80) -> float:
    """The cost of `plan` without searching for a swizzle: shared memory is assumed to be conflict-free.

    Pricing needs every conversion of an e-graph, planning only the chosen ones: 0.1 ms instead of 1.5 ms each.
    """
    if src == dst or register_permutation(src, dst) is not None:
        return 0.0
    shuffled = shuffle_plan(src, dst, element_bits, target)
    if shuffled is not None and shuffled.steps.shuffles == 0:
        return shuffled.cost
    element_bytes = max(1, element_bits // 8)
    moved = src.n_warps * WARP * (src.n_regs + dst.n_regs) * element_bytes
    waits = 2 * (target.latency.shared + target.latency.barrier)
    through = moved / target.throughput.smem_bytes + waits
    return through if shuffled is None else min(through, shuffled.cost)


@cache
def shuffle_plan(src: Layout, dst: Layout, element_bits: int, target: Target = SM_80) -> Shuffle | None:
    """Conversion inside warps, or None if elements change warps."""
    steps = shuffle_steps(src, dst)
    if steps is None:
        return None
    words = max(1, element_bits // REGISTER_BITS)
    rates = target.throughput
    shuffles = words * steps.shuffles * WARP / rates.shuffle
    selects = (words * steps.selects(src.n_regs) + steps.places) * WARP / rates.int_add
    latency = target.latency.exchange if steps.shuffles else 0.0
    return Shuffle(steps, src.n_warps * (shuffles + selects) + latency)


@cache
def shared_plan(src: Layout, dst: Layout, element_bits: int, target: Target = SM_80) -> SharedRoundTrip:
    """Conversion through shared memory, with the swizzle that costs the fewest passes over the banks."""
    element_bytes = max(1, element_bits // 8)

    def cost(shared: SharedLayout) -> float:
        return _cycles(src, shared, Feature.STMATRIX, target) + _cycles(dst, shared, Feature.LDMATRIX, target)

    costs = {shared: cost(shared) for shared in _candidates(src, dst, element_bytes)}
    shared = min(costs, key=lambda s: (costs[s], _matrix(dst, s, Feature.LDMATRIX, target) is None))
    store = _matrix(src, shared, Feature.STMATRIX, target) or access_plan(src, shared, "store")
    load = _matrix(dst, shared, Feature.LDMATRIX, target) or access_plan(dst, shared, "load")
    waits = 2 * (target.latency.shared + target.latency.barrier)
    return SharedRoundTrip(shared, store, load, shared.size_bytes, src.n_warps * costs[shared] + waits)


def _cycles(layout: Layout, shared: SharedLayout, feature: Feature, target: Target) -> float:
    """SM cycles of one warp that moves `layout`, by matrix instructions (those of `feature`) or plain ones."""
    plain = _plain_cycles(layout, shared, target)
    matrix = _legal_matrix(layout, shared, feature, target)
    return plain if matrix is None else min(plain, _matrix_cycles(matrix, target))


def _matrix(layout: Layout, shared: SharedLayout, feature: Feature, target: Target) -> LdMatrix | None:
    """The matrix form if the target has it and it is not more expensive than plain accesses."""
    matrix = _legal_matrix(layout, shared, feature, target)
    if matrix is None or _matrix_cycles(matrix, target) > _plain_cycles(layout, shared, target):
        return None
    return matrix


def _legal_matrix(layout: Layout, shared: SharedLayout, feature: Feature, target: Target) -> LdMatrix | None:
    """The matrix form if the target has it; stmatrix has no predicate to keep warps from writing replicas."""
    matrix = ldmatrix(layout, shared) if target.has(feature) else None
    return None if matrix is not None and feature is Feature.STMATRIX and matrix.free.warp else matrix


def _matrix_cycles(matrix: LdMatrix, target: Target) -> float:
    return _pipe_cycles(len(matrix.instructions), matrix.wavefronts, target)


def _pipe_cycles(count: int, wavefronts: int, target: Target) -> float:
    """Cycles that `count` accesses keep the shared-memory pipe and the schedulers busy."""
    passes = wavefronts * SWIZZLE_ROW_BYTES / target.throughput.smem_bytes
    issued = count * ISSUED_PER_ACCESS / target.throughput.issue
    return max(passes, count * WARP / target.throughput.load_store) + issued


def _plain_cycles(layout: Layout, shared: SharedLayout, target: Target) -> float:
    """Cost of `access_plan` from the bases alone, without building the plan.

    Also counts the instructions that assemble b32 words from elements that are not adjacent in register order.
    """
    size = shared.element_bytes
    reg, lane, warp = (compose(shared.offset, part) for part in (layout.reg, layout.lane, layout.warp))
    widest = min(log2(max(1, MAX_BYTES // size)), shared.bits)
    vector = vector_bits(reg, lane + warp, [1 << k for k in range(widest)])
    form = Echelon(reg)
    count = 1 << (form.rank - vector)
    wavefronts = count * linear_wavefronts([base * size for base in lane], size << vector)
    pack = log2(WORD // size) if size < WORD else 0
    neighbours = pack <= vector and all(form.solve(1 << k) == 1 << k for k in range(pack))
    words = 0 if neighbours else count << max(0, vector - pack)
    return _pipe_cycles(count, wavefronts, target) + words * WARP / target.throughput.int_add


@cache
def _candidates(src: Layout, dst: Layout, element_bytes: int) -> tuple[SharedLayout, ...]:
    """Shared layouts worth trying: one for each choice of what lies contiguously in 16 bytes."""
    widest = min(log2(max(1, MAX_BYTES // element_bytes)), src.bits)
    common = _shared_registers(src, dst)
    vectors = [
        common,
        common + complete(common, src.reg),
        common + complete(common, dst.reg),
    ]
    for fragment in (dst, src):
        if element_bytes <= WORD:
            vectors.append([*fragment.reg[: log2(WORD // element_bytes)], *fragment.lane[:2]])
        if element_bytes == 2:
            vectors.append(list(fragment.lane[2:]))
    found: dict[SharedLayout, None] = {}
    for vector in vectors:
        chosen = complete((), vector)[:widest]
        for length in {len(chosen), min(len(chosen), len(common)) or len(chosen)}:
            found[_swizzle(src, dst, chosen[:length], element_bytes)] = None
    return tuple(found)


def _shared_registers(src: Layout, dst: Layout) -> list[int]:
    """A basis of the elements that differ only in registers in both layouts, in register order where possible:
    then b32 words hold neighbouring registers."""
    common = intersection(src.reg, dst.reg)
    inside = Echelon(common)
    return complete((), [base for base in (*dst.reg, *src.reg, *common) if inside.solve(base) is not None])


def _swizzle(src: Layout, dst: Layout, vector: list[int], element_bytes: int) -> SharedLayout:
    """The shared layout with `vector` in the lowest offset bits and no bank conflict for either side, if one exists.

    In coordinates where the vector takes the low bits and no lane or warp of either layout has a part in it: rows (the
    offsets that share a bank) must meet the lanes of an access phase, of both layouts, only in 0.
    """
    units = [1 << k for k in range(src.bits)]
    basis = vector + complete(vector, [*src.thread, *dst.thread, *units])
    to_new = invert(tuple(basis))
    width = len(vector)
    rest = src.bits - width
    written, read = (_phase(layout, vector, element_bytes) for layout in (src, dst))
    phases = [[x >> width for x in compose(to_new, lanes)] for lanes in (written, read)]
    banks = min(rest, max(0, log2(SWIZZLE_ROW_BYTES // element_bytes) - width))
    free_rows = common_complement(phases[0], phases[1], rest)
    rows = complete((), [*free_rows, *(1 << k for k in range(rest))])[: rest - banks]
    columns = complete(rows, [*phases[0], *(1 << k for k in range(rest))])
    offsets_to_new = [1 << k for k in range(width)] + [x << width for x in (*columns, *rows)]
    return SharedLayout(compose(invert(tuple(offsets_to_new)), to_new), src.bits, element_bytes)


def _phase(layout: Layout, vector: list[int], element_bytes: int) -> list[int]:
    """Lanes served together: those of one phase at the widest access the layout has along `vector`.

    If the vector spans lanes, as ldmatrix requires, the eight rows of a matrix must not collide.
    """
    registers = Echelon(layout.reg)
    length = 0
    while length < len(vector) and registers.solve(vector[length]) is not None:
        length += 1
    if length < len(vector):
        lanes = Echelon([*layout.reg, *layout.lane[:2]])
        if all(lanes.solve(x) is not None for x in vector):
            return list(layout.lane[2:])
        if vector == list(layout.lane[2:]):
            return [*layout.reg[:1], *layout.lane[:2]]
    words = max(1, (element_bytes << length) // WORD)
    return list(layout.lane[: LANE_BITS - log2(words)])
