"""Rules for the use of tensor maps: boxes, ranks, swizzles, strides, bytes announced, alignment of shared memory.

A map's type gives its boxes and their layout in shared memory, the manifest's record of the parameter the location of
the array. Source: CUDA driver API, cuTensorMapEncodeTiled; PTX ISA 8.8, cp.async.bulk.tensor.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from math import gcd

from ir.checked import checked
from ir.core import Block, Value
from ir.descriptors import SPANS, TensorMapDescriptor
from ir.dialects import nvgpu, nvvm
from ir.dialects.llvm_operations import GetElementPtr
from ir.dialects.nvvm.copies import FourRows, TensorCopy
from ir.narrowing import is_mapping, is_row
from ir.types import SHARED_PTR, FloatType
from ir.walks import blocks

MAX_EXTENT = 256
ALIGNMENT = 16  # bytes: rows of a box, strides of an array
SHARED_ALIGNMENT = 128  # of a box in shared memory
MAX_STRIDE = 1 << 40
DYNAMIC_ALIGNMENT = 1024  # of dynamic shared memory


def verify_tensor_maps(block: Block, params: Sequence[Mapping[str, object]]) -> None:
    """Raises VerifyError, at the copy or the barrier, if a kernel's tensor copies are invalid as written."""
    records = {v: p for v, p in zip(block.args, params, strict=False) if isinstance(v.type, TensorMapDescriptor)}
    if any(isinstance(v.type, TensorMapDescriptor) for v in block.args):
        for each in blocks(block):
            announced: dict[object, list[nvvm.MBarrierArriveExpectTx]] = {}
            brought: dict[object, int] = {}
            joined: set[object] = set()  # barriers to which other CTAs also bring bytes
            for op in each.ops:
                if isinstance(op, nvvm.MBarrierArriveExpectTx):
                    announced.setdefault(place(op.addr), []).append(op)
                elif isinstance(op, TensorCopy):
                    size = verify_use(op, records)
                    if isinstance(op, nvvm.TensorLoad | nvvm.TensorLoadCluster):
                        key = place(op.mbar)
                        brought[key] = brought.get(key, 0) + size
                        joined.update([key] if isinstance(op, nvvm.TensorLoadCluster) and op.multicastMask else [])
            verify_bytes(announced, brought, joined)


def verify_bytes(
    announced: Mapping[object, Sequence[nvvm.MBarrierArriveExpectTx]],
    brought: Mapping[object, int],
    joined: Set[object],
) -> None:
    """A barrier that expects bytes and receives copies in the same block receives exactly as many, or more if it is
    `joined`.
    """
    for key, ops in announced.items():
        wanted = sum(op.txcount for op in ops)
        got = brought.get(key, wanted)
        words = "announces {} bytes, the boxes of its tensor copies have {}"
        ops[0].expect(wanted == got or (key in joined and wanted > got), words, wanted, got)


def verify_use(op: TensorCopy, records: Mapping[Value, Mapping[str, object]]) -> int:
    """One copy; the bytes of its box. Copies of an untyped map are not checked, and have none."""
    source = checked(getattr(op, "tmaDescriptor"), Value)  # noqa: B009 (declared by each class)
    kind = source.type
    if not isinstance(kind, TensorMapDescriptor):
        return 0
    box, rank = kind.box, len(kind.box.shape)
    given = 2 if isinstance(op, FourRows) else op.rank
    op.expect(given == rank, "has {} coordinates, the boxes of its map {} dimensions", given, rank)
    for extent in box.shape:
        op.expect(1 <= extent <= MAX_EXTENT, "a box has 1 to {} elements per dimension, its map {}", MAX_EXTENT, extent)
    op.expect(
        box.row_bytes % ALIGNMENT == 0,
        "rows of a box are multiples of {} bytes, its map's have {}",
        ALIGNMENT,
        box.row_bytes,
    )
    span = SPANS[kind.swizzle]
    fits = not span or kind.interleave != "none" or box.row_bytes <= span
    words = "a swizzle of {} spans rows of at most {} bytes, its map's have {}"
    op.expect(fits, words, kind.swizzle, span, box.row_bytes)
    op.expect(kind.interleave == "none" or rank >= 3, "interleaved maps have at least 3 dimensions, its map {}", rank)
    whole = kind.interleave != "32B" or kind.swizzle == "32B"
    op.expect(whole, "an interleave of 32B takes a swizzle of 32B, its map's is {}", kind.swizzle)
    numbers = kind.oob_fill != "nan" or isinstance(box.element, FloatType)
    op.expect(numbers, "only floats out of bounds can be NaN, the elements of its map are {}", box.element)
    for value in op.operands:
        if value.type == SHARED_PTR and value is not getattr(op, "mbar", None):
            known = alignment(value)
            op.expect(
                known % SHARED_ALIGNMENT == 0,
                "its box in shared memory must be aligned to {} bytes, is to {}",
                SHARED_ALIGNMENT,
                known,
            )
    if source in records:
        verify_record(op, kind, records[source])
    return box.size_bytes


def verify_record(op: TensorCopy, kind: TensorMapDescriptor, record: Mapping[str, object]) -> None:
    """The launcher creates the map that the copy uses, for an array that a map can describe."""
    said = TensorMapDescriptor.of(record)
    op.expect(said == kind, "its map is {}, the launcher makes {}", kind, said)
    least = 32 if kind.interleave == "32B" else ALIGNMENT
    strides = record.get("global_strides")
    for dimension, given in enumerate(strides if is_row(strides) else (), 1):
        stride = constant(given)
        legal = stride is None or (stride % least == 0 and 0 <= stride < MAX_STRIDE)
        op.expect(
            legal,
            "dimension {} of its array has a stride of {} bytes; it must be a multiple of {}",
            dimension,
            stride,
            least,
        )


def constant(expression: object) -> int | None:
    """An expression of the manifest without arguments, None for others."""
    said: Mapping[str, object] = expression if is_mapping(expression) else {}
    if len(said) != 1:
        return None
    ((name, given),) = said.items()
    if name == "const":
        return given if type(given) is int else None
    values = [constant(each) for each in given] if is_row(given) else []
    if len(values) != 2 or values[0] is None or values[1] is None:
        return None
    left, right = values[0], values[1]
    return {"mul": left * right, "add": left + right, "ceildiv": -(-left // max(right, 1))}.get(name)


def place(pointer: Value) -> Hashable:
    """An address in terms of how it is computed, equal for equal computations."""
    op = pointer.owner
    if isinstance(op, GetElementPtr):
        return place(op.base), op.index, op.element_bytes if op.index is not None else 0, op.offset
    if isinstance(op, nvgpu.MBarrierGet):
        return op.barriers, op.index, op.number
    return pointer


def alignment(pointer: Value) -> int:
    """The alignment in bytes of an address in shared memory, by its constant parts; others are assumed to be
    aligned.
    """
    found = DYNAMIC_ALIGNMENT
    while isinstance(pointer.owner, GetElementPtr):
        found = gcd(found, pointer.owner.offset)
        pointer = pointer.owner.base
    return found
