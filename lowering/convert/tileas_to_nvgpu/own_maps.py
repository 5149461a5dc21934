"""Tensor maps that a kernel builds itself, because its parameters must be exactly the entry's (the drop-in for
tileiras).

    claim      one warp takes a slot of an array of the module: the first whose flag an exchange finds zero
    make       a map of zeros in shared memory, each field replaced, copied to the slot and released
    acquire    every thread, once the CTA has met; then its tensor copies may use the map
    give back  the flag is zero again once the copies of all threads have ended

A slot belongs to one CTA at a time, across launches: there are `MOST_SMS` times as many slots as an SM holds CTAs, so
every resident CTA has one; on a device with more SMs, CTAs wait for earlier ones. Sources: PTX ISA, tensormap.replace,
tensormap.cp_fenceproxy, fence.proxy.tensormap; Triton 3.9 also starts from zeroed maps and replaces all fields;
CUTLASS's grouped GEMM publishes and acquires them this way (copy_sm90_desc.hpp).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from ir.core import Block, Region, Value
from ir.dialects import arith, gpu, llvm, nv_tileas, nvgpu, nvvm, scf
from ir.dialects.nv_tileas import TiledTmaStore
from ir.launch_records import Expression, TensorMapRecord
from ir.types import GLOBAL_PTR, I32, I64, IntType, LLVMPointerType
from lowering.convert.tileas_to_nvgpu.agents import branch
from lowering.convert.tileas_to_nvgpu.context import Expander
from lowering.convert.tileas_to_nvgpu.literals import address
from lowering.targets import target as target_named
from lowering.targets.occupancy import occupancy
from lowering.targets.target import MAP_WORDS, WARP

MAP_BYTES = 128
"""PTX ISA, tensor-map object."""
MOST_SMS = 256
"""SMs of a device, a power of two: GB202, the largest chip of these tiers, has 192 (NVIDIA, Blackwell architecture)."""
ELEMENTS = {
    "i1": 0, "i8": 0, "f8E4M3FN": 0, "f8E5M2": 0, "f8E8M0FNU": 0, "i16": 1, "i32": 3, "i64": 5, "f16": 6, "f32": 7,
    "f64": 9, "bf16": 10, "tf32": 7,
}  # fmt: skip
"""Codes of .elemtype. Source: PTX ISA, tensormap.replace. Integers are those that `runtime.cuda` passes to the driver.
"""
SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
"""Codes of .swizzle_mode. Source: as above."""
EMPTY = 1, MAP_BYTES
"""Extents and strides of the map of an array without elements, which is that of one element after the maps."""
GENERIC = LLVMPointerType(0)
BINARY = {"mul": arith.MulI, "add": arith.AddI, "ceildiv": arith.CeilDivSI}


def make(x: Expander, func: nv_tileas.Func) -> None:
    """The maps of a kernel that builds them itself, instead of parameters."""
    if func.tensormaps and x.target.asked_maps:
        own = OwnMaps(x, func)
        own.make()
        x.records, x.shared_bytes = (), own.shared_bytes
        x.at_end.append(own.give_back)


class OwnMaps:
    """The maps of a kernel, by their numbers."""

    def __init__(self, x: Expander, func: nv_tileas.Func):
        self.x, self.emitter, self.records = x, x.emitter, func.tensormaps
        self.stores = any(isinstance(op, TiledTmaStore) for op in func.walk())
        self.bytes = MAP_BYTES * (len(self.records) + 1)  # the last is the target of maps of empty arrays
        self.shared = max(func.shared_bytes, MAP_BYTES * len(self.records))
        whole = occupancy(target_named(x.target.name), WARP * func.warps, 1, self.shared)  # registers are not known yet
        self.slots = MOST_SMS * (1 << (whole.count - 1).bit_length())
        name = func.sym_name
        self.memory = address(self.emitter, gpu.GlobalArray(f"maps${name}", MAP_BYTES, bytes(self.slots * self.bytes)))
        self.flags = address(self.emitter, gpu.GlobalArray(f"slots${name}", 4, bytes(4 * self.slots)))

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of the kernel, including the words after it."""
        return -(-self.shared // MAP_WORDS) * MAP_WORDS + MAP_WORDS

    def make(self) -> None:
        """All maps, at the very start of the kernel."""
        emitter = self.emitter
        branch(self.x, emitter.compare("ult", emitter.thread, emitter.constant(WARP)), self.by_one_warp)
        emitter.effect(gpu.Barrier)
        slot = emitter.emit(nvgpu.Load, self.word(0), types=[I64], segments=(1, 0, 0))
        for number in range(len(self.records)):
            place = emitter.add(slot, emitter.constant(MAP_BYTES * number, I64)) if number else slot
            self.x.maps.append(emitter.emit(llvm.IntToPtr, place, types=[GENERIC]))
            emitter.effect(nvvm.FenceTensorMapAcquire, self.x.maps[-1])

    def give_back(self) -> None:
        """The slot, at the end of the kernel."""
        emitter = self.emitter
        if self.stores:
            emitter.effect(nvvm.BulkWaitGroup, group=0)
        emitter.effect(gpu.Barrier)

        def free() -> None:
            flag = emitter.emit(nvgpu.Load, self.word(1), types=[I64], segments=(1, 0, 0))
            flag = emitter.emit(llvm.IntToPtr, flag, types=[GLOBAL_PTR])
            emitter.effect(
                nvgpu.Atomic, flag, emitter.constant(0), segments=(1, 0, 1), kind="and", order="release", scope="gpu"
            )

        branch(self.x, emitter.compare("eq", emitter.thread, emitter.constant(0)), free)

    def word(self, number: int) -> Value:
        """Where the slot's address, or its flag's, is kept."""
        return self.emitter.pointer(self.emitter.shared_base, None, 1, self.shared_bytes - MAP_WORDS + 8 * number)

    def by_one_warp(self) -> None:
        """Zeros; the first thread claims a slot and fills in the fields; all lanes publish."""
        emitter, everyone = self.emitter, self.emitter.constant(-1)
        zero, lane = emitter.constant(0), self.emitter.thread
        for number in range(len(self.records)):
            place = emitter.pointer(emitter.shared_base, lane, 4, MAP_BYTES * number)
            emitter.effect(nvgpu.Store, zero, place, segments=(1, 1, 0))
        emitter.effect(nvvm.SyncWarp, everyone)
        branch(self.x, emitter.compare("eq", lane, zero), self.by_one_thread)
        emitter.effect(nvvm.SyncWarp, everyone)
        slot = emitter.emit(nvgpu.Load, self.word(0), types=[I64], segments=(1, 0, 0))
        slot = emitter.emit(llvm.IntToPtr, slot, types=[GLOBAL_PTR])
        for number in range(len(self.records)):
            target = emitter.pointer(slot, None, 1, MAP_BYTES * number)
            source = emitter.pointer(emitter.shared_base, None, 1, MAP_BYTES * number)
            emitter.effect(nvvm.TensorMapPublish, target, source)
        if any(self.may_be_empty(record) for record in self.records):
            pad = emitter.pointer(slot, lane, 4, self.bytes - MAP_BYTES)
            emitter.effect(nvgpu.Store, zero, pad, segments=(1, 1, 0))
        emitter.effect(nvvm.FenceProxy, kind="async", space="")  # copies to the same memory follow

    def by_one_thread(self) -> None:
        """A slot, its addresses for the CTA, and the fields of the maps."""
        emitter = self.emitter
        number = self.claim()
        slot = emitter.pointer(self.memory, number, self.bytes)
        for word, found in enumerate((slot, emitter.pointer(self.flags, number, 4))):
            value = emitter.emit(llvm.PtrToInt, found, types=[I64])
            emitter.effect(nvgpu.Store, value, self.word(word), segments=(1, 1, 0))
        pad = emitter.emit(llvm.PtrToInt, emitter.pointer(slot, None, 1, self.bytes - MAP_BYTES), types=[I64])
        for place, record in enumerate(self.records):
            self.fill(emitter.pointer(emitter.shared_base, None, 1, MAP_BYTES * place), record, pad)

    def claim(self) -> Value:
        """The number of a slot that was free: CTAs begin their search at the slot of their own number in the grid."""
        emitter = self.emitter
        ids = [emitter.emit(gpu.BlockId, types=[I32], dimension=axis) for axis in "xyz"]
        sizes = [emitter.emit(gpu.GridDim, types=[I32], dimension=axis) for axis in "xy"]
        number = ids[2]
        for size, id in zip(reversed(sizes), reversed(ids[:2]), strict=True):
            number = emitter.emit(arith.AddI, emitter.emit(arith.MulI, number, size), id)
        mask = emitter.constant(self.slots - 1)
        first = emitter.emit(arith.AndI, number, mask)
        body = Block([I32])

        def attempt() -> None:
            (tried,) = body.args
            flag = emitter.pointer(self.flags, tried, 4)
            old = emitter.emit(
                nvgpu.Atomic,
                flag,
                emitter.constant(1),
                types=[I32],
                segments=(1, 0, 1),
                kind="exch",
                order="acquire",
                scope="gpu",
            )
            taken = emitter.compare("ne", old, emitter.constant(0))
            following = emitter.emit(arith.AndI, emitter.add_constant(tried, 1), mask)
            number = emitter.emit(arith.Select, taken, following, tried)
            emitter.builder.add(scf.Condition, taken, number, types=(), segments=(1, 1))

        self.inside(body, attempt)
        made = emitter.builder.add(scf.While, first, types=[I32], segments=(1,), regions=[Region([body])])
        return made.results[0]

    def inside(self, body: Block, fill: Callable[[], None]) -> None:
        """The body of a loop."""
        emitter = self.emitter
        outside, emitter.builder.block = emitter.builder.block, body
        emitter.open.add(body)
        fill()
        emitter.open.discard(body)
        emitter.builder.block = outside

    def fill(self, place: Value, record: TensorMapRecord, pad: Value) -> None:
        """Fill in every field of a zeroed map."""
        emitter, put = self.emitter, self.put
        base, dims = self.number(record["base"]), [self.number(each) for each in record["global_dim"]]
        strides = [self.number(each) for each in record["global_strides"]]
        if self.may_be_empty(record):
            zero = emitter.constant(0, I64)
            empty = reduce(
                lambda a, b: emitter.emit(arith.OrI, a, b), [emitter.compare("eq", each, zero) for each in dims]
            )
            one, stride = (emitter.constant(each, I64) for each in EMPTY)
            base = emitter.emit(arith.Select, empty, pad, base)
            dims = [emitter.emit(arith.Select, empty, one, each) for each in dims]
            strides = [emitter.emit(arith.Select, empty, stride, each) for each in strides]
        put(place, "global_address", base)
        put(place, "rank", emitter.constant(len(dims) - 1))
        for at, (dim, box, step) in enumerate(zip(dims, record["box"], record["element_strides"], strict=True)):
            put(place, "global_dim", emitter.emit(arith.TruncI, dim, types=[I32]), at)
            put(place, "box_dim", emitter.constant(box), at)
            put(place, "element_stride", emitter.constant(step), at)
        for at, stride in enumerate(strides):
            put(place, "global_stride", stride, at)
        codes = {
            "elemtype": ELEMENTS[record["dtype"]],
            "swizzle_mode": SWIZZLES[record["swizzle"]],
            "interleave_layout": 0,
            "fill_mode": 0,
        }
        for field, code in codes.items():
            emitter.effect(nvvm.TensorMapReplace, place, segments=(1, 0), field=field, number=code)

    def put(self, place: Value, field: str, value: Value, ordinal: int = 0) -> None:
        """A field given by a register."""
        self.emitter.effect(nvvm.TensorMapReplace, place, value, segments=(1, 1), field=field, ordinal=ordinal)

    def may_be_empty(self, record: TensorMapRecord) -> bool:
        """Is an extent unknown?"""
        return any("const" not in each for each in record["global_dim"])

    def number(self, expression: Expression) -> Value:
        """An expression of the launch manifest in 64 bits; narrower numbers are signed."""
        emitter = self.emitter
        ((kind, value),) = expression.items()
        if isinstance(value, int):
            if kind == "const":
                return emitter.constant(value, I64)
            given = emitter.block.args[value]
            if isinstance(given.type, LLVMPointerType):
                return emitter.emit(llvm.PtrToInt, given, types=[I64])
            narrow = isinstance(given.type, IntType) and given.type.width < I64.width
            return emitter.emit(arith.ExtSI, given, types=[I64]) if narrow else given
        left, right = map(self.number, value)
        return emitter.emit(BINARY[kind], left, right)
