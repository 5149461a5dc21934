"""The starting facts of placement: uniform values, operands of stores and loops, and layouts in which stores
coalesce.
"""

from __future__ import annotations

from egraph.encode import EncodedProgram
from egraph.scaled import by_magnitudes
from egraph.skeleton import SkeletonBranch, SkeletonEffect, SkeletonLoop
from ir.checked import checked
from ir.core import Type, UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas_cluster import Exchange
from ir.types import PartitionViewType, TileType
from lowering.atoms.tma import reduction
from lowering.placement import printing
from lowering.placement.accumulated import accumulated, negated, read_alone, rescaled, scaled_sums, summed
from lowering.placement.ahead import ahead
from lowering.placement.copied import contiguous_dim
from lowering.placement.held import held, runs
from lowering.placement.oracle import LayoutOracle, Row
from lowering.targets import Feature


def seed(program: EncodedProgram, oracle: LayoutOracle) -> dict[str, list[Row]]:
    """The starting facts of placement: uniform values, operands of stores and loops, layouts in which stores coalesce.

    Raises UnsupportedError, located, for effects that have no lowering yet.
    """
    rows: dict[str, list[Row]] = {"r.want": [], "r.offer": [], "r.tied": [], "r.taken": [], "uniform_type": []}
    rows["r.ahead"] = [(number,) for number in ahead(program)]
    tensor = Feature.TCGEN05 in oracle.features
    rows["r.accumulated"] = [(number,) for number in accumulated(program)] if tensor else []
    rows["r.negated"] = [(number,) for number in negated(program)] if tensor else []
    rows["r.read"] = [(number,) for number in read_alone(program)] if tensor else []
    rows["r.rescaled"] = [*rescaled(program)] if tensor else []
    rows["r.summed"] = [*summed(program)] if tensor else []
    rows["r.scaled_sum"] = [(number,) for number in scaled_sums(program)] if tensor else []
    numbers = (
        (factors, *map(program.number_of, (*op.results, *op.operands[2:]))) for op, factors in program.factors.items()
    )
    rows["r.scaled"] = [(result, *factors, *others) for factors, result, *others in numbers]
    signless = all(by_magnitudes(op) for op in program.factors if isinstance(op, ct.MmaFScaled))
    rows["r.magnitudes"] = [(result,) for _, result, *_ in rows["r.scaled"][:1]] if signless else []
    rows["r.held"] = [(number,) for number in held(program, left=tensor)]
    rows["r.runs"] = [(number,) for number in runs(program)]
    for id, kind in oracle.interner.types.items():
        if is_uniform(kind):
            rows["uniform_type"].append((id,))
    for item in program.skeleton.walk():
        if isinstance(item, SkeletonEffect):
            _seed_store(item, oracle, rows)
        elif isinstance(item, SkeletonLoop):
            rows["r.want"] += [(k, 0) for k in (item.lower, item.upper, item.step, item.again)]
        elif isinstance(item, SkeletonBranch):
            yields = zip((*item.then_yields, *item.otherwise_yields), item.types * 2, strict=True)
            uniform = [k for k, kind in yields if not (isinstance(kind, TileType) and kind.size > 1)]
            rows["r.want"] += [(k, 0) for k in (item.condition, *uniform)]
    return rows


def _seed_store(item: SkeletonEffect, oracle: LayoutOracle, rows: dict[str, list[Row]]) -> None:
    op = item.op
    if item.alone:
        return  # it has no placed values
    if isinstance(op, ct.Assert):
        kind = checked(op.condition.type, TileType)
        rows["r.want"] += [(item.operands[0], layout) for layout in oracle.anchors(kind, len(kind.shape) - 1)]
        return
    if isinstance(op, ct.Print):
        rows["r.want"] += printing.wanted(item, oracle)
        return
    if isinstance(op, ct.LoadPtr | ct.AtomicRMW | ct.AtomicCAS):
        _seed_access(item, oracle, rows)
        return
    if isinstance(op, Exchange):
        first, *others = item.operands
        rows["r.tied"] += [pair for k in others for pair in ((first, k), (k, first))]
        rows["r.want"] += [(k, 0) for k in item.operands if is_uniform(op.values[0].type)]
        rows["r.taken"] += [(first,)]  # in whatever layout it comes
        return
    if not isinstance(op, ct.StoreView | ct.StorePtr):
        raise UnsupportedError(f"'{op.name}' is not supported by the compiler yet", op.location)
    if isinstance(op, ct.StoreView):
        value, *uniform = item.operands
        view, tile = op.view.type, op.tile.type
        if not isinstance(view, PartitionViewType) or not isinstance(tile, TileType):
            op.fail("needs a tile and a partition view")
        contiguous = contiguous_dim(view)
        anchors = oracle.anchors(tile, len(view.tile) - 1 if contiguous is None else contiguous)
        rows["r.want"] += [(k, 0) for k in uniform if not is_token(op, item, k)]
        if Feature.TMA in oracle.features:
            rows.setdefault("r.stored", []).append((value, uniform[0]))
    else:
        pointers, value = item.operands[:2]
        tile = checked(op.value.type, TileType)
        anchors = oracle.anchors(tile, len(tile.shape) - 1)
        rows["r.tied"].append((value, pointers))
        if op.mask is not None:
            rows["r.tied"].append((value, item.operands[2]))
    rows["r.want"] += [(value, layout) for layout in anchors]


def _seed_access(item: SkeletonEffect, oracle: LayoutOracle, rows: dict[str, list[Row]]) -> None:
    """An ordered access with a tile result: operands and result in one layout."""
    result = item.op.results[0].type
    if not isinstance(result, TileType):
        item.op.fail("needs a tile")
    pointers, *others = item.placed
    rows["r.tied"] += [(pointers, k) for k in others]
    for layout in oracle.anchors(result, len(result.shape) - 1):
        rows["r.want"].append((pointers, layout))
        rows["r.offer"].append((item.results[0], layout))
    if item.at and reduction(item.op) and Feature.TMA in oracle.features:
        rows["r.want"] += [(k, 0) for k in item.at]
        rows.setdefault("r.stored", []).append((item.operands[1], item.at[0]))


def is_uniform(kind: Type) -> bool:
    """Does every thread hold such a value?"""
    return not isinstance(kind, TileType) or kind.size == 1


def is_token(op: ct.StoreView, item: SkeletonEffect, number: int) -> bool:
    """Is this operand number the store's token?"""
    return op.token is not None and number == item.operands[-1]
