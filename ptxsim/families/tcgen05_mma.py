"""tcgen05.mma: D = A * B + D in tensor memory, by one CTA or a pair.

Products are exact and summed in f32 (rounded once more for f16 results, with scale factors in f64), integers exactly. A
is in shared or tensor memory, B in shared memory. Each CTA of a pair holds half of the rows of A and D and half of the
columns of B. Source: PTX ISA, "tcgen05.mma", "Data Path Layout", "Block Scaling for tcgen05.mma".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ptxsim.decode import Decode
from ptxsim.descriptors import tcgen05_descriptor
from ptxsim.elements import BITS, decoder, scale_table
from ptxsim.errors import OperandError
from ptxsim.families.load_store import address_values
from ptxsim.families.tcgen05_site import TensorSite, group_size
from ptxsim.program import Address, Vector
from ptxsim.ptx_types import TYPES, Array
from ptxsim.shared_tiles import TileReader
from ptxsim.sparsity import expand
from ptxsim.tcgen05_form import SCALED, Form, Mode, parse
from ptxsim.tensor_memory import LANES, SLAB, as_matrix, folds, from_matrix, region

_KINDS = ("f16", "tf32", "f8f6f4", "i8", *SCALED)
_USES = ("fill", "use", "lastuse", "discard")
_COLLECTORS = tuple(f"collector::{buffer}::{use}" for buffer in ("a", "b0", "b1", "b2", "b3") for use in _USES)
_MMA = ("tcgen05.mma",)
_COPIED = ("tcgen05.cp", "tcgen05.shift")
# Layout and type of the results, and shift of D, that several CTAs can compute at once.
_PLAIN = "full", "f32", 0
_KEPT = 256  # sets of threads and their operands that an instruction caches


def _mode(d: Decode) -> Mode:
    is_sparse, is_stationary = d.flag("sp"), d.flag("ws")
    group = group_size(d)
    kind = (d.take_prefixed("kind::") or "").removeprefix("kind::")
    is_scaled = d.flag("block_scale")
    size = d.take("scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32")
    d.take(*_COLLECTORS)
    if kind not in _KINDS or is_scaled != (kind in SCALED) or (is_stationary and (group == 2 or is_scaled)):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    # PTX ISA, "tcgen05.mma": .block32 and .block16 are aliases of the sizes; the default depends on the kind
    names: dict[str, dict[str | None, int]] = {
        "mxf8f6f4": {None: 1, "scale_vec::1X": 1, "block32": 1},
        "mxf4": {None: 2, "scale_vec::2X": 2, "block32": 2},
        "mxf4nvf4": {"scale_vec::2X": 2, "block32": 2, "scale_vec::4X": 4, "block16": 4},
    }
    scales = 0
    if is_scaled:
        if size not in names[kind]:
            raise d.unsupported(f"`{d.instruction.opcode}`")
        scales = names[kind][size]
    elif size is not None:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    return Mode(kind, group, is_stationary, is_sparse, scales)


class Operands:
    """The operands of a tcgen05.mma, as functions that read them for a lane."""

    def __init__(self, d: Decode, mode: Mode) -> None:
        rest = list(range(len(d.operands)))
        needed = 5 + mode.is_sparse + (2 if mode.scales else 0)
        if len(rest) < needed:
            raise d.error(OperandError, f"`{d.instruction.opcode}` takes at least {needed} operands here")
        self._uniform: list[Callable[[], Array]] = []
        self.d = self._tensor(d, 0)
        self.a_in_tensor = isinstance(d.operands[1], Address)
        self.a_bits, self.b_bits = None if self.a_in_tensor else d.read(1, TYPES["b64"]), d.read(2, TYPES["b64"])
        self.a = self._tensor(d, 1) if self.a_bits is None else self._plain(self.a_bits)
        self.b = self._plain(self.b_bits)
        position = 3
        self.metadata = None
        if mode.is_sparse:
            self.metadata = self._tensor(d, position)
            position += 1
        forms = d.read(position, TYPES["b32"])
        self._uniform.append(lambda: forms)
        self.form = self._plain(forms)
        position += 1
        self.scales = None
        if mode.scales:
            self.scales = self._tensor(d, position), self._tensor(d, position + 1)
            position += 2
        self.disabled: list[Array] = []
        if isinstance(d.operands[position], Vector):
            self.disabled = [d.value(item, TYPES["b32"]) for item in d.vector(position, (4 * mode.group,))]
            position += 1
        self._tail(d, mode, position)

    def _tail(self, d: Decode, mode: Mode, position: int) -> None:
        """enable-input-d, and for some kinds scale-input-d after it."""
        has_scale = len(d.operands) == position + 2
        if has_scale and (mode.is_stationary or mode.kind not in ("f16", "tf32")):
            raise d.unsupported(f"`{d.instruction.opcode}` with the operand after enable-input-d")
        if self.disabled and (mode.is_stationary or mode.scales):
            raise d.unsupported(f"`{d.instruction.opcode}` with disable-output-lane")
        d.finish(position + 1 + has_scale)
        enables = d.read(position, TYPES["pred"])
        self._uniform.append(lambda: enables)
        self.enable = self._plain(enables)
        self.shift = d.constant_int(position + 1) if has_scale else 0
        if not 0 <= self.shift <= 15:
            raise d.error(OperandError, f"scale-input-d is 0 to 15, not {self.shift}")

    def _tensor(self, d: Decode, number: int) -> Callable[[int], int]:
        values = address_values(d, d.address(number), 32)
        if number < 2:  # D, and A in tensor memory
            self._uniform.append(values)
        return lambda lane: int(values()[lane])

    def _plain(self, values: Array) -> Callable[[int], int]:
        return lambda lane: int(values[lane])

    def uniform(self, lanes: Array) -> list[Array]:
        """The values of lanes of D, A in tensor memory, the instruction descriptor and enable-input-d."""
        return [values()[lanes] for values in self._uniform]


@dataclass(slots=True)
class Together:
    """The operation of threads of different CTAs, executed at once.

    ctas: the CTAs whose tensor memory they write; lanes: the thread for each; column: the first column of D; keeps:
    whether they add to D; columns, rows: shapes of B and A; product: buffer for the products [thread, cta of the pair,
    n, row].
    """

    form: Form
    ctas: list[int]
    lanes: Array
    column: int
    keeps: bool
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    product: Array
    owners: Array = field(init=False)

    def __post_init__(self) -> None:
        self.owners = np.array(self.ctas)


class Product:
    """A decoded tcgen05.mma."""

    def __init__(self, d: Decode, site: TensorSite) -> None:
        self._mode = _mode(d)
        self._shifts_a = d.flag("ashift")
        self._operands = Operands(d, self._mode)
        if self._shifts_a and not self._operands.a_in_tensor:
            raise d.error(OperandError, ".ashift needs A in tensor memory")
        self._site = site
        self._readers: dict[Form, tuple[TileReader, TileReader]] = {}
        self._known: dict[tuple[bytes, ...], Together | None] = {}

    def _reader(self, form: Form) -> tuple[TileReader, TileReader]:
        found = self._readers.get(form)
        if found is None:
            machine, mode = self._site.machine, self._mode
            k = form.k // (2 if mode.is_sparse else 1)
            a, b = (self._in_shared(element) for element in (form.a, form.b))
            found = (
                TileReader(machine, tcgen05_descriptor, a, form.rows, k, not form.a_transposed),
                TileReader(machine, tcgen05_descriptor, b, form.n // mode.group, form.k, not form.b_transposed),
            )
            self._readers[form] = found
        return found

    def _in_shared(self, element: str) -> str:
        is_narrow = element in ("e2m1", "e2m3", "e3m2") and self._mode.kind in ("f8f6f4", "mxf8f6f4")
        return f"pad.{element}" if is_narrow else element

    def run(self, lane: int) -> None:
        """Execute for one thread. Raises DescriptorError and TensorMemoryError."""
        site, mode, operands = self._site, self._mode, self._operands
        form = parse(operands.form(lane), mode)
        group = site.core.group(site.cta(lane), mode.group)
        # operations of one shape on one accumulator run in order (PTX ISA, "tcgen05: Pipelined Instructions")
        number = site.begin(lane, "tcgen05.mma", (mode, form.m, form.n, form.result))
        columns = self._b(lane, number, form, group)
        for rank, cta in enumerate(group):
            rows = self._a(lane, number, form, cta)
            if operands.scales is not None:
                product = self._scaled(lane, number, form, cta, rows, columns)
            else:
                product = np.matmul(rows, columns.T)
            self._accumulate(lane, number, form, cta, rank, product if form.sign == 1 else -product)

    def run_together(self, threads: Array) -> bool:
        """Execute for threads of different CTAs at once, if all do the same to plain operands; returns whether it did.

        The products are computed as by `run`, matrix by matrix. Raises as `run` does.
        """
        operands, core = self._operands, self._site.core
        chosen = operands.uniform(threads)
        key = threads.tobytes(), *(values.tobytes() for values in chosen)
        if key not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = self._together(threads, chosen)
        together = self._known[key]
        if together is None:
            return False
        form, ctas, column, keeps = together.form, together.ctas, together.column, together.keeps
        core.memory.check_each(ctas, column, form.n)
        numbers = [0] * len(ctas)
        if core.order is not None:
            shape = self._mode, form.m, form.n, form.result
            begun = core.order.begin(self._site, threads.tolist(), "tcgen05.mma", shape)
            numbers = np.repeat(begun, self._mode.group).tolist()
        columns = self._tiles(self._reader(form)[1], operands.b_bits[together.lanes], together, numbers)
        rows = self._rows_together(together, numbers)
        # D as tensor memory has it, column by column
        np.matmul(columns.reshape(*together.columns), rows.reshape(*together.rows).swapaxes(2, 3), out=together.product)
        cells = slice(0, LANES), slice(column, column + form.n)
        if core.order is not None and not core.order.accumulate(numbers, np.array(ctas), *cells, keeps):
            for lane, number, cta in zip(together.lanes.tolist(), numbers, ctas, strict=True):
                self._note(number, form, cta, operands.d(lane), keeps)
        values = together.product.reshape(len(ctas), form.n, form.rows)
        if form.sign != 1:
            np.negative(values, out=values)
        core.memory.add(ctas, column, values, keeps)
        return True

    def _together(self, threads: Array, chosen: Sequence[Array]) -> "Together | None":
        """The operation of threads of different CTAs to be executed at once, None if they must execute one by one."""
        mode, operands, core = self._mode, self._operands, self._site.core
        if mode.is_sparse or mode.scales or operands.disabled or self._shifts_a:
            return None
        ctas = [cta for lane in threads.tolist() for cta in core.group(self._site.cta(lane), mode.group)]
        first = int(threads[0])
        form = parse(operands.form(first), mode)
        is_same = all(bool((values == values[0]).all()) for values in chosen)
        if not is_same or len(set(ctas)) < len(ctas) or (form.layout, form.result, operands.shift) != _PLAIN:
            return None
        product = self._site.core.product((threads.size, mode.group, form.n, form.rows))
        return Together(
            form,
            ctas,
            np.repeat(threads, mode.group),
            operands.d(first) & 0xFFFF,
            bool(operands.enable(first)),
            (threads.size, 1, form.n, form.k),
            (threads.size, mode.group, form.rows, form.k),
            product,
        )

    def _tiles(self, reader: TileReader, descriptors: Array, together: "Together", numbers: list[int]) -> Array:
        """The tiles that lanes read from the shared memory of CTAs; numbers: of their operations."""
        tile = reader.tile(descriptors, together.owners)
        if self._site.core.order is not None:
            self._site.all_read_shared(together.lanes.tolist(), numbers, reader, tile)
        return reader.values(tile)

    def _rows_together(self, together: "Together", numbers: list[int]) -> Array:
        """A [cta, row, k]; in tensor memory at the same columns of all CTAs."""
        form, ctas = together.form, together.ctas
        if self._operands.a_bits is not None:
            return self._tiles(self._reader(form)[0], self._operands.a_bits[together.lanes], together, numbers)
        element = self._in_shared(form.a).replace("pad.", "byte.")
        column, words = self._operands.a(int(together.lanes[0])) & 0xFFFF, form.k * BITS[element] // 32
        memory = self._site.core.memory
        memory.check_each(ctas, column, words)
        for number, cta in zip(numbers, ctas, strict=True):
            self._site.reads(number, cta, slice(0, form.rows), slice(column, column + words), _COPIED)
        first = ctas[0]
        each = slice(first, first + len(ctas)) if ctas == list(range(first, first + len(ctas))) else ctas
        raw = np.ascontiguousarray(memory.words[each, : form.rows, column : column + words])
        return decoder(element)(raw.view(np.uint8))

    def _b(self, lane: int, number: int, form: Form, group: list[int]) -> Array:
        """B [n, k], the halves of a pair concatenated."""
        reader = self._reader(form)[1]
        bits = np.full(len(group), self._operands.b(lane), np.uint64)
        tile = reader.tile(bits, np.array(group))
        for position in range(len(group)):
            self._site.reads_shared(lane, number, reader, tile, position)
        return reader.values(tile).reshape(form.n, form.k)

    def _a(self, lane: int, number: int, form: Form, cta: int) -> Array:
        """A [row, k] of one CTA."""
        if self._operands.a_in_tensor:
            stored = self._a_in_tensor(lane, number, form, cta)
        else:
            reader = self._reader(form)[0]
            tile = reader.tile(np.array([self._operands.a(lane)], np.uint64), np.array([cta]))
            self._site.reads_shared(lane, number, reader, tile)
            stored = reader.values(tile)[0]
        return stored if self._operands.metadata is None else self._dense(lane, number, form, cta, stored)

    def _rows(self, form: Form, address: int) -> Array:
        """The lanes of the rows of A: those of D, in the first fold if D is folded."""
        row = np.arange(form.rows)
        if form.layout == "quarter":
            return row // 16 * SLAB + row % 16 + (address >> 16) % SLAB
        return row

    def _a_in_tensor(self, lane: int, number: int, form: Form, cta: int) -> Array:
        address = self._operands.a(lane)
        element = self._in_shared(form.a).replace("pad.", "byte.")
        k = form.k // (2 if self._mode.is_sparse else 1)
        words = k * BITS[element] // 32
        column = address & 0xFFFF
        self._site.core.memory.check(cta, column, words)
        rows = self._rows(form, address) if form.layout == "quarter" else slice(0, form.rows)
        where = rows, slice(column, column + words)
        self._site.reads(number, cta, *where, _COPIED)
        raw = np.ascontiguousarray(self._site.core.memory.words[cta][where]).view(np.uint8)
        values = decoder(element)(raw)
        if self._shifts_a:  # rows move down by one; the first keeps its values
            values = np.concatenate([values[:1], values[:-1]])
        return values

    def _dense(self, lane: int, number: int, form: Form, cta: int, stored: Array) -> Array:
        """A with the zeros that its metadata implies."""
        metadata = self._operands.metadata
        address = 0 if metadata is None else metadata(lane)
        bits = BITS[form.a]
        lanes, columns, shifts = _metadata_places(bits, form.k, self._rows(form, address))
        column = address & 0xFFFF
        self._site.core.memory.check(cta, column, int(columns.max()) + 1)
        where = lanes, column + columns
        self._site.reads(number, cta, *where, _COPIED)
        codes = (self._site.core.memory.words[cta][where] >> shifts & np.uint32(3)).astype(np.int64)
        count = int(codes.shape[1])
        if bits == 32:  # two codes for each pair: 0b1110 keeps its second element, 0b0100 its first
            return expand(stored, 2 * np.arange(count // 2) + (codes[:, ::2] >> 1), 1, form.k)
        return expand(stored, 4 * (np.arange(count) // 2) + codes, 2 if bits == 4 else 1, form.k)

    def _factors(self, lane: int, number: int, form: Form, cta: int, which: int, rows: int) -> Array:
        """Scale factors [row, block]: row r in lane r mod 32 of every slab, column r / 32, bytes from its id on.

        If D folds its columns over the lane halves, so do the factors of B (CUTLASS, ScaleFactorDuplicated2by2).
        """
        scales = self._operands.scales
        address = 0 if scales is None else scales[which](lane)
        parts = folds(form.layout) if which else 1
        column, words = address & 0xFFFF, -(-rows // parts // SLAB)
        self._site.core.memory.check(cta, column, words)
        first = form.scale_b if which else form.scale_a
        self._site.reads(number, cta, slice(0, LANES), slice(column, column + words), _COPIED)
        found: list[Array] = []
        for part in range(parts):
            slab = part * (LANES // parts)
            cells = self._site.core.memory.words[cta, slab : slab + SLAB, column : column + words]
            raw = np.ascontiguousarray(cells.T).view(np.uint8).reshape(-1, 4)
            found.append(raw[: rows // parts, first : first + self._mode.scales])
        return scale_table(form.scale_type)[np.concatenate(found)]

    def _scaled(self, lane: int, number: int, form: Form, cta: int, rows: Array, columns: Array) -> Array:
        count = self._mode.scales
        a = self._factors(lane, number, form, cta, 0, form.rows)
        b = self._factors(lane, number, form, cta, 1, form.n)
        left = rows.astype(np.float64).reshape(form.rows, count, -1) * a[:, :, None]
        right = columns.astype(np.float64).reshape(form.n, count, -1) * b[:, :, None]
        return np.matmul(left.reshape(form.rows, -1), right.reshape(form.n, -1).T)

    def _accumulate(self, lane: int, number: int, form: Form, cta: int, rank: int, product: Array) -> None:
        """Add a product [row, n] to D, or store it; leave disabled lanes alone."""
        site, operands = self._site, self._operands
        address = operands.d(lane)
        column, keeps = address & 0xFFFF, bool(operands.enable(lane))
        site.core.memory.check(cta, column, form.n // folds(form.layout))
        self._note(number, form, cta, address, keeps)
        part = region(site.core.memory.words[cta], form.layout, address >> 16, column, form.n)
        before = as_matrix(part, form.layout) if keeps else None
        words = from_matrix(self._words(form, product, before), form.layout)
        if operands.disabled:
            masks = operands.disabled[4 * rank : 4 * rank + 4]
            off = np.array([int(masks[bit // SLAB][lane]) >> bit % SLAB & 1 for bit in range(LANES)], np.bool_)
            lanes = region(
                np.broadcast_to(off[:, None], site.core.memory.words[cta].shape),
                form.layout,
                address >> 16,
                column,
                form.n,
            )
            words = np.where(lanes, part, words)
        part[...] = words

    def _note(self, number: int, form: Form, cta: int, address: int, keeps: bool) -> None:
        if self._site.core.order is None:
            return
        first = address & 0xFFFF
        columns = slice(first, first + form.n // folds(form.layout))
        lanes = self._rows(form, address) if form.layout == "quarter" else slice(0, LANES)
        if keeps:
            self._site.reads(number, cta, lanes, columns, (*_MMA, *_COPIED))
        self._site.writes(number, cta, lanes, columns)

    def _words(self, form: Form, product: Array, before: Array | None) -> Array:
        """D as 32-bit words [row, n]; f16 results take the low half of a column each."""
        if form.result == "s32":
            total = product.astype(np.int64)
            if before is not None:
                total += before.view(np.int32)
            if form.saturates:
                total = np.clip(total, -(1 << 31), (1 << 31) - 1)
            return total.astype(np.int32).view(np.uint32)
        given = product.astype(np.float32)
        if before is not None:
            if form.result == "f16":
                old = before.astype(np.uint16).view(np.float16).astype(np.float32)
            else:
                old = before.view(np.float32)
            given = given + old * np.float32(2.0**-self._operands.shift)
        if form.result == "f16":
            return given.astype(np.float16).view(np.uint16).astype(np.uint32)
        return given.view(np.uint32)


def _metadata_places(bits: int, k: int, rows: Array) -> tuple[Array, Array, Array]:
    """Lanes, columns and shifts [row, code] of the 2-bit positions of sparse A whose rows are in lanes `rows`.

    Elements below 16 bits: a row's codes are in its own lane, lowest columns of A first. Wider ones: of 16 rows, lanes
    0 to 7 hold the lower and 8 to 15 the upper half of K, rows r in the low and r + 8 in the high half of the word.
    Source: CUTLASS, tmem_e_frg of the SM100 traits.
    """
    if bits < 16:
        code = np.arange(k // (4 if bits == 4 else 2))[None, :]
        zero = 0 * rows[:, None]
        return rows[:, None] + 0 * code, code // 16 + zero, (2 * (code % 16) + zero).astype(np.uint32)
    code, row = np.arange(16)[None, :], np.arange(rows.size)[:, None]
    lanes = rows[:, None] - row % 16 + row % 8 + 8 * (code // 8)
    return lanes, 0 * lanes, (2 * (code % 8) + 16 * (row // 8 % 2)).astype(np.uint32)


def decode_mma(d: Decode, site: TensorSite) -> Product:
    """tcgen05.mma{.sp}{.ws}."""
    return Product(d, site)
