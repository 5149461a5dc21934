"""multimem.ld_reduce, multimem.st and multimem.red: one address of a multicast object stands for all its replicas.

The replicas are combined in their order, which the PTX ISA leaves unspecified. Without .acc each sum is rounded to the
type, with it only the last one. Source: PTX ISA, "multimem.ld_reduce, multimem.st, multimem.red"; ptxas 13.5 for the
forms that exist.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ptxsim.access import Site
from ptxsim.decode import Decode, Step
from ptxsim.families.atomic import in_turns
from ptxsim.families.floating import narrow, widen
from ptxsim.families.load_store import address_values, port_at
from ptxsim.floats import FORMATS, float8_table, round_bits
from ptxsim.floors import Floor
from ptxsim.memory import Fault
from ptxsim.ptx_types import TYPES, Array, PtxType, unsigned
from ptxsim.reductions import Combine, combiner

_ORDERED = ("min", "max")
# Operations on a single element by type.
_SCALARS: dict[str, tuple[str, ...]] = {
    "b32": ("and", "or", "xor"),
    "b64": ("and", "or", "xor"),
    "u32": ("add", *_ORDERED),
    "s32": ("add", *_ORDERED),
    "u64": ("add", *_ORDERED),
    "s64": _ORDERED,
    "f64": ("add",),
}
# Float types: how many elements a vector may have (1 for none), the operations, the type of .acc.
_FLOATS: dict[str, tuple[tuple[int, ...], tuple[str, ...], str]] = {
    "f32": ((1, 2, 4), ("add",), ""),
    **dict.fromkeys(("f16", "bf16"), ((2, 4, 8), ("add", *_ORDERED), "f32")),
    **dict.fromkeys(("f16x2", "bf16x2"), ((1, 2, 4), ("add", *_ORDERED), "f32")),
    **dict.fromkeys(("e4m3", "e5m2"), ((4,), ("add", *_ORDERED), "f16")),
    **dict.fromkeys(("e4m3x2", "e5m2x2"), ((2, 4, 8), ("add", *_ORDERED), "f16")),
    **dict.fromkeys(("e4m3x4", "e5m2x4"), ((1, 2, 4), ("add", *_ORDERED), "f16")),
}
_HALF_PAIRS = ("f16x2", "bf16x2")


@dataclass(frozen=True, slots=True)
class Form:
    """The effect of a multimem instruction; operation is "" for st, accumulator "" without .acc."""

    kind: str
    operation: str
    accumulator: str
    type: PtxType
    count: int

    @property
    def bytes(self) -> int:
        """Of one access."""
        return self.type.bytes * self.count


def _form(d: Decode) -> Form:
    kind = d.need("ld_reduce", "st", "red")
    order = d.take("weak", "relaxed", *({"ld_reduce": ("acquire",)}.get(kind, ("release",))))
    if order not in (None, "weak"):
        d.need("cta", "cluster", "gpu", "sys")
    d.take("global")
    operation = "" if kind == "st" else d.need("add", "min", "max", "and", "or", "xor")
    accumulator = (d.take_prefixed("acc::") or "").removeprefix("acc::")
    count = int((d.take("v2", "v4", "v8") or "v1")[1:])
    form = Form(kind, operation, accumulator, d.type(), count)
    if not _is_known(form) or (kind == "red" and order == "weak"):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(2)
    return form


def _is_known(form: Form) -> bool:
    name = form.type.name
    if name in _SCALARS:
        return form.count == 1 and not form.accumulator and form.operation in ("", *_SCALARS[name])
    if name not in _FLOATS:
        return False
    counts, operations, accumulator = _FLOATS[name]
    if form.kind == "red" and (accumulator == "f16" or (name in _HALF_PAIRS and form.count == 1)):
        operations = () if accumulator == "f16" else ("add",)
    has_accumulator = form.kind == "ld_reduce" and form.operation == "add" and form.accumulator == accumulator
    return form.count in counts and form.operation in ("", *operations) and (not form.accumulator or has_accumulator)


# ---- combining the values of two replicas


def _byte_floats(name: str) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Conversion to float32 and back for lanes of 8-bit floats."""
    element = name[:4]
    table, form = float8_table(element), FORMATS[element]
    return (
        lambda bits: table.take(bits.view(np.uint8)),
        lambda values: round_bits(values.astype(np.float64), form, "rn", saturate=True).astype(np.uint8),
    )


def _conversions(type_: PtxType) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    if type_.name[:4] in ("e4m3", "e5m2"):
        return _byte_floats(type_.name)
    return lambda bits: widen(bits, type_), lambda values: narrow(values, type_)


def _combine(form: Form) -> Combine:
    """The operation on the bits of two values of the type."""
    name, type_ = form.operation, form.type
    if type_.name[:4] not in ("e4m3", "e5m2"):
        found = combiner(name, type_.name)
        if found is None:
            raise AssertionError(f"{name} of .{type_.name}")
        return found
    out_of, back = _byte_floats(type_.name)
    function = {"add": np.add, "min": np.fmin, "max": np.fmax}[name]
    storage = unsigned(type_.bits)
    return lambda one, two: back(function(out_of(one), out_of(two))).view(storage)


def _reduce(form: Form, values: list[Array]) -> Array:
    """The reduction of the replicas' bits."""
    storage = unsigned(form.type.bits)
    if form.accumulator:
        out_of, back = _conversions(form.type)
        dtype = np.dtype(np.float32 if form.accumulator == "f32" else np.float16)
        total = out_of(values[0]).astype(dtype)
        for value in values[1:]:
            total = total + out_of(value).astype(dtype)
        return back(total.astype(np.float32)).view(storage)
    combine, result = _combine(form), values[0]
    for value in values[1:]:
        result = combine(result, value).view(storage)
    return result


# ---- memory


class _Replicas:
    """The cells of every replica that the lanes of an access address."""

    def __init__(self, d: Decode, form: Form, operand: int) -> None:
        machine = d.machine
        self.site = Site(machine, d.instruction)
        d.site = self.site
        self.form = form
        self._space = machine.global_space
        self._address = address_values(d, d.address(operand), 64)
        self._wanted = np.zeros(machine.lanes, np.uint64)
        self._port = port_at(d, self.site, "global", lambda: self._wanted, form.bytes)
        self.site.counts_sectors = False
        self._machine = machine

    def each(self, mask: Array | None) -> Iterator[tuple[Array, Iterator[tuple[Array, Array]]]]:
        """Groups of lanes that address one multicast object, with (cells, indices) of its replicas in turn."""
        lanes = self._machine.live_mask() if mask is None else mask & self._machine.live_mask()
        address = self._address()
        while lanes.any():
            try:
                here, replicas = self._space.replicas(address, lanes, self.form.bytes)
            except Fault as fault:
                raise self.site.fault(fault, lanes) from None
            yield here, self._cells(here, replicas)
            lanes = lanes & ~here

    def _cells(self, lanes: Array, replicas: list[Array]) -> Iterator[tuple[Array, Array]]:
        for replica in replicas:
            np.copyto(self._wanted, replica)
            yield self._port.cells(lanes)


def _load(d: Decode, form: Form) -> Step:
    raw, storage = TYPES[f"b{form.type.bits}"], unsigned(form.type.bits)
    targets = [d.target(item, raw) for item in d.vector(0, (form.count,))]
    replicas = _Replicas(d, form, 1)
    tracker = d.binding.hazards

    def step(mask: Array | None) -> None:
        for lanes, cells_of in replicas.each(mask):
            values: list[Array] = []
            for cells, index in cells_of:
                if tracker is not None:
                    tracker.loads(cells, replicas.site, form.bytes, lanes, index, False)
                values.append(np.ascontiguousarray(cells.take(index)).view(storage))
            result = _reduce(form, values).reshape(-1, form.count)
            for number, target in enumerate(targets):
                target[lanes] = result[:, number]

    return step


def _sources(d: Decode, form: Form) -> list[Array]:
    raw = TYPES[f"b{form.type.bits}"]
    return [d.value(item, raw) for item in d.vector(1, (form.count,))]


def _store(d: Decode, form: Form) -> Step:
    sources = _sources(d, form)
    replicas = _Replicas(d, form, 0)
    tracker = d.binding.hazards

    def step(mask: Array | None) -> None:
        whole = np.stack(sources, axis=1)
        for lanes, cells_of in replicas.each(mask):
            for cells, index in cells_of:
                data = np.ascontiguousarray(whole[lanes]).view(cells.dtype).reshape(-1)
                if tracker is not None:
                    tracker.stores(cells, replicas.site, form.bytes, lanes, index, data, False)
                cells[index] = data

    return step


def _update(d: Decode, form: Form) -> Step:
    sources = _sources(d, form)
    replicas = _Replicas(d, form, 0)
    combine, storage = _combine(form), unsigned(form.type.bits)
    tracker = d.binding.hazards

    def step(mask: Array | None) -> None:
        for lanes, cells_of in replicas.each(mask):
            for cells, index in cells_of:
                if tracker is not None:
                    tracker.stores(cells, replicas.site, form.bytes, lanes, index, None, False)
                memory = cells.view(storage)
                for number, source in enumerate(sources):
                    where = index * form.count + number
                    in_turns(memory, where, [source[lanes]], lambda old, given: combine(old, given[0]).view(storage))

    return step


def decode_multimem(d: Decode) -> Step:
    """multimem.ld_reduce, multimem.st and multimem.red, on the replicas of a multicast object."""
    form = _form(d)
    return {"ld_reduce": _load, "st": _store, "red": _update}[form.kind](d, form)


OPCODES = {"multimem": decode_multimem}
FLOORS = (
    Floor("multimem", "90", "8.1"),
    Floor("multimem acc::*", "", "8.2"),
    Floor("multimem e4m3*|e5m2*", "100f 110f 120a 121a", "8.6"),
)
