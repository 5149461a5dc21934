"""Tensor maps as launch-manifest records: base, sizes and strides as expressions in the entry's arguments."""

from __future__ import annotations

from ir.core import Value
from ir.dialects import arith, llvm, nv_tileas
from ir.launch_records import Expression, TensorMapRecord
from ir.types import PartitionViewType, TensorViewType
from lowering.layouts.boxes import Boxes

_NAMES: dict[type[object], str] = {
    arith.MulI: "mul",
    arith.AddI: "add",
    arith.CeilDivUI: "ceildiv",
    arith.CeilDivSI: "ceildiv",
}


def expression(value: Value, arguments: dict[Value, int]) -> Expression | None:
    """A scalar as an expression that the host can evaluate, None where it needs the device."""
    number = arguments.get(value)
    if number is not None:
        return {"arg": number}
    op = value.op
    if isinstance(op, arith.Constant):
        return {"const": int(op.value)}
    if isinstance(op, arith.ExtSI | arith.ExtUI | arith.TruncI | llvm.Bitcast):
        return expression(op.operands[0], arguments)
    name = _NAMES.get(type(op))
    if op is None or (name is None and not isinstance(op, arith.SubI | arith.ShLI | arith.ShRSI | arith.ShRUI)):
        return None
    parts = [expression(v, arguments) for v in op.operands]
    left, right = parts
    if left is None or right is None:
        return None
    if isinstance(op, arith.SubI):
        return {"add": [left, {"mul": [right, {"const": -1}]}]}
    if isinstance(op, arith.ShLI | arith.ShRSI | arith.ShRUI):  # to the right: sizes and strides, not negative
        digits = right.get("const")
        if not isinstance(digits, int):
            return None
        return {"mul": [left, {"const": 1 << digits}]} if isinstance(op, arith.ShLI) else quotient(left, 1 << digits)
    return {str(name): [left, right]}


def quotient(of: Expression, divisor: int) -> Expression:
    """A number over another, rounded down: manifests have quotients rounded up."""
    return {"ceildiv": [{"add": [of, {"const": 1 - divisor}]}, {"const": divisor}]}


def tensor_map(view: Value, plan: Boxes, arguments: dict[Value, int]) -> TensorMapRecord | None:
    """The manifest record of a partition's array, cut into the plan's boxes; None where it is not known on the host.

    Source: cuTensorMapEncodeTiled; dimensions innermost first, strides in bytes without the innermost.
    """
    partition, memref = view.op, None
    if isinstance(partition, nv_tileas.Partition):
        memref = partition.source.op
    kind = view.type
    if not isinstance(memref, nv_tileas.MakeMemref) or not isinstance(kind, PartitionViewType):
        return None
    array: TensorViewType = kind.view
    size = max(8, array.element.width) // 8
    sizes = _filled(array.shape, memref.sizes, arguments)
    strides = _filled(array.strides, memref.strides, arguments)
    base = expression(memref.base, arguments)
    dims = [kind.dim_map[d] for d in plan.dims]
    if base is None or sizes is None or strides is None:
        return None
    return {
        "kind": "tensormap",
        "dtype": str(array.element),
        "base": base,
        "global_dim": [sizes[d] for d in dims],
        "global_strides": [{"mul": [strides[d], {"const": size}]} for d in dims[1:]],
        "box": list(plan.box),
        "element_strides": [1] * len(dims),
        "swizzle": plan.swizzle,
        "interleave": "none",
        "l2_promotion": "128B",
        "oob_fill": "zero",
    }


def _filled(
    static: tuple[int | None, ...], dynamic: list[Value], arguments: dict[Value, int]
) -> list[Expression] | None:
    """Static extents as constants, dynamic ones as expressions, in order; None where one needs the device."""
    rest = iter(dynamic)
    found = [expression(next(rest), arguments) if known is None else {"const": known} for known in static]
    whole = [each for each in found if each is not None]
    return whole if len(whole) == len(found) else None
