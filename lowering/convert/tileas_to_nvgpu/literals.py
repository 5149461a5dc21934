"""Arrays in the PTX module: globals of the source, and literals whose elements differ."""

from __future__ import annotations

import numpy as np

from ir.core import Location, Type, UnsupportedError, Value
from ir.dialects import arith, gpu, nv_tileas
from ir.dialects.cuda_tile import DenseElements
from ir.types import F4E2M1FN, GLOBAL_PTR, I1, FloatType, IntType
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.views import Vectors, load
from lowering.layouts.access import MAX_BYTES, global_access
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import Layout
from lowering.symbols import name_of, symbol


def array_bytes(value: DenseElements, size: int, element: Type, location: Location) -> bytes:
    """The elements in memory form, f4 packed two to a byte, the first in the low half. Raises UnsupportedError,
    located, for other elements of less than a byte.
    """
    if element == F4E2M1FN:
        codes = np.ascontiguousarray(value.expand((size,))).view(np.uint8)
        return (codes[::2] | codes[1::2] << 4).tobytes()
    if not isinstance(element, IntType | FloatType) or (element.width < 8 and element != I1):
        raise UnsupportedError(f"literals of {element} are not supported", location, "use elements of 8 bits or more")
    return np.ascontiguousarray(value.expand((size,))).tobytes()


def get_global(emitter: Emitter, op: nv_tileas.GetGlobal) -> Value:
    """The base of a global of the source."""
    data = array_bytes(op.value, op.type.size, op.type.element, op.location)
    alignment = max(op.alignment, element_bytes(op.type.element))
    return address(emitter, gpu.GlobalArray(symbol(op.symbol), alignment, data))


def address(emitter: Emitter, array: gpu.GlobalArray) -> Value:
    """The base of an array, which is declared at its first use."""
    emitter.arrays.setdefault(array.name, array)
    return emitter.prelude.value(gpu.GetGlobal, types=[GLOBAL_PTR], symbol=array.name)


class Literal(Vectors):
    """A tile of constants read from an array of the module, as wide as the layout allows."""

    def __init__(self, emitter: Emitter, layout: Layout, element: Type, value: DenseElements, location: Location):
        self.bytes = element_bytes(element)
        size = 1 << layout.bits
        self.plan = global_access(layout, (size,), 0, max(1, MAX_BYTES // self.bytes))
        super().__init__(emitter, layout, element, self.plan)
        data = array_bytes(value, size, element, location)
        known = {array.data: array for array in emitter.arrays.values()}
        array = known.get(data) or gpu.GlobalArray(name_of("literal", data), MAX_BYTES, data)
        self.base = address(emitter, array)

    def access(self, number: int) -> Value:
        """One vector load: base + thread part ^ xor + add."""
        emitter, thread, where = self.emitter, self.plan.thread[0], self.plan.accesses[number]
        part = emitter.linear((*thread.lane, *thread.warp))
        if where.xor[0]:
            part = emitter.emit(arith.XOrI, part, emitter.constant(where.xor[0]))
        pointer = emitter.pointer(self.base, part, self.bytes, where.add[0] * self.bytes)
        return load(emitter, pointer, self.element, self.width, None, 0)
