"""Answers to the queries of egraph/rules/{demand,isel}.egg: layouts under each operation, anchors, widths.

One oracle serves one program, and all candidate numbers of warps of its CTA. It knows the atoms of all targets: atoms
that a target lacks get infinite cost when its program is extracted, so one saturated e-graph serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from math import prod

from egraph.encode import EncodedProgram
from egraph.interner import Interner, Table
from egraph.saturate import Query
from ir.dialects import cuda_tile as ct
from ir.records import dataclass
from ir.types import F32, I1, PartitionViewType, TensorViewType, TileType
from lowering.atoms.mma import SCALAR_ATOMS, MmaAtom, longest, scaled_atoms
from lowering.atoms.tcgen05 import ALONE, FEW, PAIR, TensorAtom
from lowering.atoms.wgmma import WgmmaAtom, wgmma_atom
from lowering.layouts.access import MAX_BYTES, WIDE_BYTES, access_plan, global_access, ldmatrix, reads
from lowering.layouts.anchors import coalesced
from lowering.layouts.boxes import SWIZZLES, boxes, memory_order, swizzle_row
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import Layout, LayoutError
from lowering.layouts.mma import MmaTile, fma_tile, mma_tile, warp_grids
from lowering.layouts.prefixes import prefix_dim
from lowering.layouts.shapes import (
    inverse_permutation,
    layout_of_part,
    layout_of_whole,
    permute,
    reduce_dim,
    slice_for_broadcast,
)
from lowering.layouts.shared import SharedLayout, swizzled
from lowering.layouts.tensor import kept
from lowering.layouts.wgmma import TRANSPOSED, matrix_operand, operand_layout, warpgroup_grids, wgmma_tile
from lowering.placement.accumulated import rescaled
from lowering.placement.copied import contiguous_dim, worth_staging
from lowering.placement.tensor import left_products, scaled_products, tensor_products
from lowering.targets import ALL_TARGETS, Feature

Row = tuple[int, ...]
KINDS = 8  # of layouts by their number of warps: 1 to 64
ALL_FEATURES = frozenset(feature for target in ALL_TARGETS.values() for feature in target.features)
WARPS_OF_GROUP = 4  # PTX ISA, Asynchronous Warpgroup Level Matrix Instructions
WGMMA_WIDTHS = (256, 128, 64, 32, 16, 8)  # N of atoms that power-of-two tiles are cut into, widest first
MAX_WIDTHS = 2  # N tried for each grid: a narrower one issues more instructions and reads A more often
MOST_BYTES = 512  # of a tile's parts held by one thread: 128 registers, half of a thread's
TRANSPOSED_BYTES = 2  # of the elements that wgmma reads from either major; PTX ISA, wgmma.mma_async, imm-trans
MAX_GRIDS = 2  # warp grids tried for each product: the two most square ones read the fewest operand bytes


@dataclass(frozen=True, slots=True)
class MmaChoice:
    """An atom and the distribution of the tile over warps."""

    atom: MmaAtom | WgmmaAtom | TensorAtom
    grid: tuple[int, int]

    def __str__(self) -> str:
        if isinstance(self.atom, TensorAtom):
            return self.atom.name
        unit = "warpgroups" if isinstance(self.atom, WgmmaAtom) else "warps"
        return f"{self.atom.name} on {self.grid[0]}x{self.grid[1]} {unit}"


def power_of_two_divisor(value: int) -> int:
    """The largest power of two that divides `value`, at most the widest access."""
    return min(value & -value, WIDE_BYTES) if value else WIDE_BYTES


def wide_promised(program: EncodedProgram) -> bool:
    """Is any pointer assumed to be aligned to the widest access?"""
    promises = (op.predicate for op in program.source.values() if isinstance(op, ct.Assume))
    return any(isinstance(each, ct.DivBy) and each.divisor % WIDE_BYTES == 0 for each in promises)


class Layouts:
    """Ids of layouts, whose lowest bits encode the number of warps: the rules convert only between equal ones.

    Source of the bits: egraph/rules/place.egg. Shared layouts, which are independent of warps, end in 0.
    """

    def __init__(self) -> None:
        self._table = Table()

    def id(self, layout: Layout | SharedLayout) -> int:
        """The id of a layout."""
        warps = layout.n_warps.bit_length() % KINDS if isinstance(layout, Layout) and layout.bits else 0
        return self._table.id(layout) * KINDS + warps

    def __getitem__(self, id: int) -> Layout | SharedLayout:
        return self._table[id // KINDS]


class LayoutOracle:
    """Layouts by id for one program; calling it answers a query of the saturation loop."""

    def __init__(
        self, program: EncodedProgram, warps: Sequence[int], features: frozenset[Feature] = ALL_FEATURES,
        boxed: bool = True, offered: Sequence[int] = (), paired: bool = False,
    ):  # fmt: skip
        """`warps`: numbers of warps to provide layouts for. `features` of the targets to extract for: atoms that none
        of them has are left out. `boxed`: all of them have tensor copies. `offered`: candidate numbers of warps of the
        kernel, among which its own is priced; `warps` by default. `paired`: a pair of its CTAs may compute products
        together.
        """
        self.features = features
        self.boxed = boxed
        self.interner: Interner = program.interner
        self.warps = tuple(warps)
        self.offered = tuple(offered) or self.warps
        wide = Feature.WIDE_GLOBAL in features and wide_promised(program)
        self.widths = (WIDE_BYTES, MAX_BYTES) if wide else (MAX_BYTES,)  # of global accesses
        products = [op for op in program.source.values() if isinstance(op, ct.MmaF | ct.MmaI)]
        folded = any(isinstance(op, ct.Combining) for op in program.source.values())
        self.chained = len(products) > 1 or bool(products and folded)
        self.tensor_forms = (ALONE, PAIR) if paired else (ALONE,)  # of sums that stay in tensor memory through a loop
        self.rescales = any(True for _ in rescaled(program))  # a layout that no rule reads renumbers those behind it
        self.layouts = Layouts()
        self.kept: set[int] = set()  # layouts of sums that stay in tensor memory
        self.scales: set[int] = set()  # shared layouts from which scales are copied there
        self.layouts.id(Layout.trivial(self.warps[0]))  # id 0 by contract with the rules; uniform whatever the warps
        self._answer: dict[str, Callable[[Row], Iterator[tuple[str, Row]]]] = {
            "ask_load": self._load,
            "ask_gather": self._gather,
            "ask_mma": self._mma,
            "ask_mmai": self._mma_integer,
            "ask_scaled": self._scaled,
            "ask_narrow": self._narrow,
            "ask_permute_forward": self._permute_forward,
            "ask_permute": self._permute,
            "ask_permute_shared": self._permute_shared,
            "ask_broadcast": self._broadcast,
            "ask_reduce": self._reduce,
            "ask_prefix": self._prefix,
            "ask_whole": self._whole,
            "ask_part": self._part,
            "ask_view": self._view,
            "ask_run": self._run,
            "ask_shared": self._shared,
            "ask_write": self._write,
            "ask_turn": self._turn,
            "ask_hold": self._hold,
            "ask_runs": self._runs,
            "ask_boxed": self._boxed,
            "ask_gather_run": self._gather_run,
        }

    def __call__(self, query: Query) -> Mapping[str, Sequence[Row]]:
        """Answers to all new queries; defaults only when nothing else is left to answer."""
        rows: dict[str, list[Row]] = {}
        for name, answer in self._answer.items():
            for question in query.new(name):
                for relation, row in answer(question):
                    rows.setdefault(relation, []).append(row)
        return rows or self._defaults(query)

    def answers(self, question: str, row: Row) -> list[tuple[str, Row]]:
        """The rows that answer one query, each with its relation."""
        return list(self._answer[question](row))

    def _defaults(self, query: Query) -> dict[str, list[Row]]:
        """Coalesced layouts for carried values, branches and reduced tiles that have no other layout."""
        rows: dict[str, list[Row]] = {}
        for kind in ("carry", "branch"):
            offered = set(query.rows(f"ask_{kind}_offered"))
            for item, index, ty in query.rows(f"ask_{kind}"):
                if (item, index) not in offered and isinstance(self.interner.types[ty], TileType):
                    rows.setdefault(f"{kind}_default", []).extend((item, index, id) for id in self._default(ty))
        met = {row[0] for row in query.rows("ask_default_met")}
        for value, ty in query.rows("ask_default"):
            if value not in met:
                rows.setdefault("default_layout", []).extend((ty, id) for id in self._folded(ty))
        return rows

    def _default(self, ty: int) -> list[int]:
        kind = self.tile(ty)
        if kind.size == 1:
            return [0]
        dim, size = len(kind.shape) - 1, element_bytes(kind.element)
        return [self.layout_id(coalesced(kind.shape, dim, size, warps)) for warps in self.warps]

    def _folded(self, ty: int) -> list[int]:
        """Layouts for a reduced tile that has none: vectors, or an element a lane along each dimension."""
        kind, size = self.tile(ty), element_bytes(self.tile(ty).element)
        each = [coalesced(kind.shape, d, size, n, size) for n in self.warps for d in range(len(kind.shape))]
        return list(dict.fromkeys([*self._default(ty), *(map(self.layout_id, each) if kind.shape[1:] else ())]))

    def layout_id(self, layout: Layout | SharedLayout) -> int:
        """The id of a layout; every layout of a single element is that of a uniform value."""
        return 0 if isinstance(layout, Layout) and layout.bits == 0 else self.layouts.id(layout)

    def layout(self, id: int) -> Layout:
        """The distributed layout of an id."""
        found = self.layouts[id]
        if not isinstance(found, Layout):
            raise TypeError(f"{found} is not a distributed layout")
        return found

    def shared(self, id: int) -> SharedLayout:
        """The shared layout of an id."""
        found = self.layouts[id]
        if not isinstance(found, SharedLayout):
            raise TypeError(f"{found} is not a shared layout")
        return found

    def choice(self, id: int) -> MmaChoice:
        """The matrix instruction and warp grid of an id."""
        return self.interner.attributes[id]

    def tile(self, ty: int) -> TileType:
        """The tile type of an id."""
        kind = self.interner.types[ty]
        if not isinstance(kind, TileType):
            raise TypeError(f"{kind} is not a tile type")
        return kind

    def _is_distributed(self, id: int) -> bool:
        return isinstance(self.layouts[id], Layout)

    # --- anchors

    def anchors(self, kind: TileType, contiguous: int) -> list[int]:
        """Coalesced layouts at the widest vectors and at single elements, so that narrow accesses coalesce too."""
        size = element_bytes(kind.element)
        if kind.size == 1:
            return [0]
        widths = (*self.widths, size)
        return list(dict.fromkeys(
            self.layout_id(coalesced(kind.shape, contiguous, size, warps, width))
            for warps in self.warps for width in widths
        ))  # fmt: skip

    def _load(self, row: Row) -> Iterator[tuple[str, Row]]:
        ty, vty = row
        view = self.interner.types[vty]
        contiguous = contiguous_dim(view)
        for layout in self.anchors(self.tile(ty), len(view.tile) - 1 if contiguous is None else contiguous):
            yield "load_layout", (ty, vty, layout)

    def _gather(self, row: Row) -> Iterator[tuple[str, Row]]:
        kind = self.tile(row[0])
        for layout in self.anchors(kind, len(kind.shape) - 1):
            yield "gather_layout", (row[0], layout)

    def _mma_integer(self, row: Row) -> Iterator[tuple[str, Row]]:
        """Products of bytes, whose signs are the last two columns of the query."""
        a, b, c = (self.tile(ty) for ty in row[:3])
        signed = (bool(row[3]), bool(row[4]))
        for choice, *layouts in self._choices(a, b, c, signed):
            yield "mmai_choice", (*row, self.interner.attributes.id(choice), *map(self.layout_id, layouts))
        for from_registers, columns in self._wgmma(a, b, c, signed):
            yield "wgmmai_rs_choice" if from_registers else "wgmmai_choice", (*row, *columns)
        if Feature.TCGEN05_BYTES in self.features:
            for form in self.tensor_forms:
                for atom, left, right, layout in tensor_products(a, b, c, self.warps, self._operands, signed, form):
                    choice = self.interner.attributes.id(MmaChoice(atom, (1, 1)))
                    yield "tensori_choice", (*row, choice, left, right, self.layout_id(layout))

    def _mma(self, row: Row) -> Iterator[tuple[str, Row]]:
        a, b, c = (self.tile(ty) for ty in row)
        for choice, *layouts in self._choices(a, b, c):
            yield "mma_choice", (*row, self.interner.attributes.id(choice), *map(self.layout_id, layouts))
        for from_registers, columns in self._wgmma(a, b, c):
            yield "wgmma_rs_choice" if from_registers else "wgmma_choice", (*row, *columns)
        yield from self._mma_tensor(row, a, b, c) if Feature.TCGEN05 in self.features else ()

    def _mma_tensor(self, row: Row, a: TileType, b: TileType, c: TileType) -> Iterator[tuple[str, Row]]:
        """Products in tensor memory; of sums that a loop rescales there one CTA's of f32."""
        for form in self.tensor_forms:
            for atom, left, right, layout in tensor_products(a, b, c, self.warps, self._operands, form=form):
                columns = (*row, self.interner.attributes.id(MmaChoice(atom, (1, 1))), left, right)
                yield "tensor_choice", (*columns, self.layout_id(layout))
                if form == ALONE and c.element == F32 and (self.rescales or atom.shape[0] != FEW):
                    self.kept.add(carried := self.layout_id(kept(layout)))
                    yield "scaled_choice", (*columns, carried)
        for atom, held, right, layout in left_products(a, b, c, self.warps, self._operands):
            columns = (*row, self.interner.attributes.id(MmaChoice(atom, (1, 1))), self.layout_id(held), right)
            yield "tensor_left_choice", (*columns, self.layout_id(layout))
            if c.element == F32:
                yield "scaled_left_choice", (*columns, self.layout_id(kept(layout)))

    def _choices(
        self, a: TileType, b: TileType, c: TileType, signed: tuple[bool, bool] = (True, True)
    ) -> Iterator[tuple[MmaChoice, Layout, Layout, Layout]]:
        """Instructions of a warp or a thread for operands of these types, with the layouts of A, B and C."""
        *batch, m, k = a.shape
        n, count = b.shape[-1], prod(batch)
        for atom in longest((a.element, b.element, c.element), signed, k):
            for grid, tile in self._tiles(atom, m, n, k, count):
                yield MmaChoice(atom, grid), tile.a, tile.b, tile.c
        for atom in SCALAR_ATOMS:
            if atom.computes(a.element, c.element, signed):
                for warps in self.warps:
                    tile = fma_tile(m, n, k, warps, count)
                    yield MmaChoice(atom, (1, warps)), tile.a, tile.b, tile.c

    def _scaled(self, row: Row) -> Iterator[tuple[str, Row]]:
        """Products whose instructions take scales too, with the layouts of A, B, C and of the scales of A and B."""
        a, b, c, s, t = (self.tile(ty) for ty in row)
        *batch, m, k = a.shape
        if Feature.TCGEN05 in self.features:
            for atom, left, right, layout, *scales in scaled_products(a, b, c, s, t, self.warps, self._operands):
                self.kept.add(carried := self.layout_id(kept(layout)))
                self.scales.update(map(self.layout_id, scales))
                choice = self.interner.attributes.id(MmaChoice(atom, (1, 1)))
                exact = atom.scales is not None and not atom.scales.unsigned
                name = "tensor_scaled_choice" if exact else "unsigned_tensor_choice"
                yield name, (*row, choice, left, right, carried, *map(self.layout_id, scales))
        for atom in scaled_atoms((a.element, b.element, c.element), s.element, k // s.shape[-1]):
            if atom.features <= self.features:
                for grid, tile in self._tiles(atom, m, b.shape[-1], k, prod(batch)):
                    choice = self.interner.attributes.id(MmaChoice(atom, grid))
                    layouts = map(self.layout_id, (tile.a, tile.b, tile.c, *tile.scales))
                    exact = atom.scales is not None and not atom.scales.unsigned
                    yield "block_scaled_choice" if exact else "unsigned_scaled_choice", (*row, choice, *layouts)

    def _tiles(self, atom: MmaAtom, m: int, n: int, k: int, count: int) -> Iterator[tuple[tuple[int, int], MmaTile]]:
        """The grids of warps that an atom can fill evenly, with the layouts of its operands."""
        for grid, copies in self._grids(atom, m, n):
            with suppress(LayoutError):  # the atom does not fill the tile evenly: another one will
                yield grid, mma_tile(atom, m, n, k, *grid, count, copies)

    def _grids(self, atom: MmaAtom, m: int, n: int) -> list[tuple[tuple[int, int], int]]:
        """Warp grids to try, and how often the warps fill each; if products feed products or rows are reduced, also the
        one that keeps rows in a warp: its accumulator is the next product's operand without a conversion, and a row
        reduction stays within a warp.
        """
        found: dict[tuple[tuple[int, int], int], None] = {}
        for warps in self.warps:
            grids = warp_grids(atom, m, n, warps)
            rows = [grid for grid in grids if grid[1] == 1 and self.chained]
            found |= {(grid, warps // prod(grid)): None for grid in (*grids[:MAX_GRIDS], *rows)}
        return list(found)

    def _wgmma(
        self, a: TileType, b: TileType, c: TileType, signed: tuple[bool, bool] = (True, True)
    ) -> Iterator[tuple[bool, Row]]:
        """Warpgroup products: the widest atoms for each grid, B and (or) A in shared memory, either major; whether A
        comes from registers, then the choice and the layouts of A, B and C.
        """
        (m, k), n = a.shape[-2:], b.shape[-1]
        if Feature.WGMMA not in self.features or prod(a.shape[:-2]) != 1:
            return
        sizes = [warps // WARPS_OF_GROUP for warps in self.warps if warps % WARPS_OF_GROUP == 0]
        for warpgroups, from_registers in product(sizes, (False, True)):
            atoms = (wgmma_atom(a.element, b.element, c.element, w, from_registers, signed) for w in WGMMA_WIDTHS)
            for atom, grid in self._widest([x for x in atoms if x is not None], m, n, warpgroups):
                try:
                    tile = wgmma_tile(atom, m, n, k, warpgroups, grid[1])
                except LayoutError:
                    continue  # the atom does not fill the tile evenly
                choice = self.interner.attributes.id(MmaChoice(atom, grid))
                layout = self.layout_id(tile.c)
                for right in self._operands((k, n), 0, atom, atom.shape[1]):
                    if from_registers:
                        yield True, (choice, self.layout_id(tile.a), right, layout)
                    else:
                        for left in self._operands((m, k), 1, atom, atom.shape[0]):
                            yield False, (choice, left, right, layout)

    def _widest(
        self, atoms: list[WgmmaAtom], m: int, n: int, warpgroups: int
    ) -> list[tuple[WgmmaAtom, tuple[int, int]]]:
        """For each grid of warpgroups the `MAX_WIDTHS` widest atoms that fill it: cost chooses N among them."""
        found: dict[tuple[int, int], list[WgmmaAtom]] = {}
        for atom in atoms:
            for grid in warpgroup_grids(atom, m, n, warpgroups):
                found.setdefault(grid, []).append(atom)
        return [(atom, grid) for grid in list(found)[:MAX_GRIDS] for atom in found[grid][:MAX_WIDTHS]]

    def _operands(self, shape: tuple[int, int], k_dim: int, atom: WgmmaAtom | TensorAtom, rows: int) -> Iterator[int]:
        """Shared layouts of an operand, K-major and MN-major, at the widest swizzle the tile has; a pair's CTAs hold
        half of the columns of B each.
        """
        size = element_bytes(atom.dtypes[0])
        halved = isinstance(atom, TensorAtom) and atom.ctas == 2 and k_dim == 0
        whole = shape
        if halved:
            shape, rows = (shape[0], shape[1] // 2), rows // 2
        for k_major in (True, False) if atom.may_transpose else (True,):
            span = swizzle_row(shape, k_dim if k_major else 1 - k_dim, size)
            if span in SWIZZLES:
                layout = operand_layout(shape, k_dim, size, k_major, span)
                try:
                    matrix_operand(layout, shape, k_dim, rows, 1 if isinstance(atom, TensorAtom) else TRANSPOSED)
                except LayoutError:
                    continue  # no canonical layout: the other major is
                yield self.layout_id(SharedLayout.of_pair(layout, whole, 1) if halved else layout)

    # --- what operations do to layouts

    def _permute_forward(self, row: Row) -> Iterator[tuple[str, Row]]:
        tx, perm, layout = row
        moved = permute(self.tile(tx).shape, self.interner.attributes[perm], self.layout(layout))
        yield "permute_layout", (tx, perm, layout, self.layout_id(moved))

    def _permute(self, row: Row) -> Iterator[tuple[str, Row]]:
        tx, perm, layout = row
        order: tuple[int, ...] = self.interner.attributes[perm]
        shape = tuple(self.tile(tx).shape[p] for p in order)
        moved = permute(shape, inverse_permutation(order), self.layout(layout))
        yield "permute_layout", (tx, perm, self.layout_id(moved), layout)

    def _permute_shared(self, row: Row) -> Iterator[tuple[str, Row]]:
        tx, perm, shared = row
        order: tuple[int, ...] = self.interner.attributes[perm]
        shape = tuple(self.tile(tx).shape[p] for p in order)
        moved = self.shared(shared).permute(shape, inverse_permutation(order))
        self.scales.update([self.layout_id(moved)] if shared in self.scales else ())
        yield "permute_shared", (tx, perm, self.layout_id(moved), shared)

    def _broadcast(self, row: Row) -> Iterator[tuple[str, Row]]:
        tx, ty, layout = row
        small, large = self.tile(tx), self.tile(ty)
        sliced = slice_for_broadcast(small.shape, large.shape, self.layout(layout)).layout
        yield "broadcast_layout", (tx, ty, layout, self.layout_id(sliced))

    def _reduce(self, row: Row) -> Iterator[tuple[str, Row]]:
        tx, dim, layout = row
        reduced = reduce_dim(self.tile(tx).shape, dim, self.layout(layout)).layout
        yield "reduce_layout", (tx, dim, layout, self.layout_id(reduced))

    def _whole(self, row: Row) -> Iterator[tuple[str, Row]]:
        part, whole, layout = row
        kind = self.tile(whole)
        found = layout_of_whole(self.tile(part).shape, kind.shape, self.layout(layout))
        if found.n_regs * element_bytes(kind.element) <= MOST_BYTES:
            yield "part_layout", (*row, self.layout_id(found))

    def _part(self, row: Row) -> Iterator[tuple[str, Row]]:
        part, whole, layout = row
        found = layout_of_part(self.tile(part).shape, self.tile(whole).shape, self.layout(layout))
        if found is not None:
            yield "part_layout", (part, whole, self.layout_id(found), layout)

    def _prefix(self, row: Row) -> Iterator[tuple[str, Row]]:
        tx, dim, layout = row
        if prefix_dim(self.tile(tx).shape, dim, self.layout(layout)) is not None:
            yield "prefix_layout", row

    # --- memory

    def _view(self, row: Row) -> Iterator[tuple[str, Row]]:
        kind: TensorViewType = self.interner.types[row[0]]
        size = element_bytes(kind.element)
        unit = [d for d, stride in enumerate(kind.strides) if stride == 1]
        if not unit:
            yield "view_form", (row[0], size, size, -1, size)
            return
        contiguous = unit[-1]
        rows = WIDE_BYTES
        for d, stride in enumerate(kind.strides):
            if d != contiguous and stride is not None:
                rows = min(rows, power_of_two_divisor(stride * size))
        extent = kind.shape[contiguous]
        if extent is not None:
            yield "view_form", (row[0], min(rows, power_of_two_divisor(extent * size)), rows, -1, size)
        else:
            yield "view_form", (row[0], rows, rows, sum(d is None for d in kind.shape[:contiguous]), size)

    def _run(self, row: Row) -> Iterator[tuple[str, Row]]:
        ty, vty, id = row
        if self._is_distributed(id):
            view: PartitionViewType = self.interner.types[vty]
            size = element_bytes(view.view.element)
            contiguous = contiguous_dim(view)
            for most in self.widths:
                width = 1
                if contiguous is not None and view.tile:
                    width = global_access(self.layout(id), view.tile, contiguous, most // size).vector
                yield "run_bytes", (ty, vty, id, width * size)

    def _gather_run(self, row: Row) -> Iterator[tuple[str, Row]]:
        ty, id = row
        kind = self.tile(ty)
        if kind.shape:
            size = element_bytes(kind.element)
            for most in self.widths:
                plan = global_access(self.layout(id), kind.shape, len(kind.shape) - 1, max(1, most // size))
                yield "gather_run", (ty, id, plan.vector)

    def _shared(self, row: Row) -> Iterator[tuple[str, Row]]:
        """Shared layouts from which a fragment is read efficiently: rows of 128 bytes, swizzled, contiguous as in
        memory. A tile of one row keeps the memory order if that is read as efficiently: its boxes may be wider than a
        swizzle's row.

        A layout that is loaded from global memory with full vectors needs no staging.
        """
        ty, vty, id = row
        view: PartitionViewType = self.interner.types[vty]
        kind = self.tile(ty)
        contiguous = contiguous_dim(view)
        size = element_bytes(kind.element)
        if contiguous is None or not worth_staging(kind):
            return
        layout = self.layout(id)
        if global_access(layout, kind.shape, contiguous, MAX_BYTES // size).vector * size == MAX_BYTES:
            return
        row_bytes = max(32, swizzle_row(kind.shape, contiguous, size))
        shared = swizzled(kind.shape, memory_order(kind.shape, contiguous), size, row_bytes)
        if kind.shape[contiguous] == kind.size:
            dense = SharedLayout.row_major(kind.shape, size)
            shared = min(dense, shared, key=lambda each: access_plan(layout, each).wavefronts)
        for name in reads(layout, shared):
            yield "shared_read", (*row, self.layout_id(shared), self.interner.attributes.id(name))

    def _write(self, row: Row) -> Iterator[tuple[str, Row]]:
        """For each instruction that writes the buffer of a store, the layouts with the fewest passes and with the
        fewest boxes.
        """
        ty, vty, id = row
        view: PartitionViewType = self.interner.types[vty]
        kind, contiguous = self.tile(ty), contiguous_dim(view)
        size = element_bytes(kind.element)
        if contiguous is None or not worth_staging(kind) or not self._is_distributed(id):
            return
        layout, ways = self.layout(id), dict[str, dict[SharedLayout, tuple[int, int]]]()
        for span in (*SWIZZLES, 0):
            if span > swizzle_row(kind.shape, contiguous, size):
                continue
            shared = swizzled(kind.shape, memory_order(kind.shape, contiguous), size, span)
            plan, matrices = boxes(view.tile, contiguous, shared), ldmatrix(layout, shared)
            if plan is None:
                continue
            passes = access_plan(layout, shared, "store").wavefronts
            ways.setdefault("st.shared", {})[shared] = (passes, len(plan.places))
            if matrices is not None and not matrices.free.warp:  # no predicate keeps it from writing replicas
                ways.setdefault("stmatrix", {})[shared] = (matrices.wavefronts, len(plan.places))
        for name, found in ways.items():
            fewest = (min(found, key=lambda shared: found[shared][::step]) for step in (1, -1))
            for best in dict.fromkeys(fewest):
                yield "write_layout", (*row, self.layout_id(best), self.interner.attributes.id(name))

    def _narrow(self, row: Row) -> Iterator[tuple[str, Row]]:
        """Bytes that are contiguous both in the array and in a shared layout, if fewer than a copy's maximum."""
        ty, vty, id = row
        contiguous, kind = contiguous_dim(self.interner.types[vty]), self.tile(ty)
        run = 0 if contiguous is None else self.shared(id).run_bytes(kind.shape, contiguous)
        if 0 < run < MAX_BYTES and kind.element != I1:
            yield "narrow_copy", (*row, run)

    def _turn(self, row: Row) -> Iterator[tuple[str, Row]]:
        """A loaded tile in a shared layout that no tensor copy produces; products read 16-bit elements in either
        major.
        """
        ty, vty, id, shared = row
        view: PartitionViewType = self.interner.types[vty]
        contiguous = contiguous_dim(view)
        lies = contiguous is not None and boxes(view.tile, contiguous, self.shared(shared)) is not None
        if not lies and element_bytes(view.view.element) != TRANSPOSED_BYTES:
            yield from self._hold((ty, id, shared))

    def _hold(self, row: Row) -> Iterator[tuple[str, Row]]:
        """The instructions that write a tile from registers to a shared layout."""
        ty, id, target = row
        if not self._is_distributed(id) or self.tile(ty).element == I1 or self.shared(target).ctas > 1:
            return
        layout, shared = self.layout(id), self.shared(target)
        matrices = ldmatrix(layout, shared)
        if matrices is not None and not matrices.free.warp:
            yield "hold_layout", (*row, self.interner.attributes.id("stmatrix"))
        yield "hold_layout", (*row, self.interner.attributes.id("st.shared"))

    def _runs(self, row: Row) -> Iterator[tuple[str, Row]]:
        """The shared layout to read the fragments of a gathered tile from; none where it is gathered efficiently."""
        ty, id = row
        kind, size = self.tile(ty), element_bytes(self.tile(ty).element)
        dim = len(kind.shape) - 1
        if not worth_staging(kind) or id in self.anchors(kind, dim):
            return
        shared = swizzled(kind.shape, memory_order(kind.shape, dim), size, max(32, swizzle_row(kind.shape, dim, size)))
        for name in reads(self.layout(id), shared):
            yield "runs_read", (*row, self.layout_id(shared), self.interner.attributes.id(name))

    def _boxed(self, row: Row) -> Iterator[tuple[str, Row]]:
        """The tile in its global-memory order, if full vectors serve the layout from there too, or if it is so small
        that nothing else can prefetch it.
        """
        ty, vty, id = row
        view: PartitionViewType = self.interner.types[vty]
        kind, contiguous, size = self.tile(ty), contiguous_dim(view), element_bytes(view.view.element)
        small = not worth_staging(kind)
        if contiguous is None or (small and (kind.element == I1 or kind.shape[contiguous] * size < MAX_BYTES)):
            return
        layout = self.layout(id)
        shared = swizzled(kind.shape, memory_order(kind.shape, contiguous), size, 0)
        full = small or global_access(layout, kind.shape, contiguous, MAX_BYTES // size).vector * size == MAX_BYTES
        found = (*row, self.layout_id(shared), self.interner.attributes.id("ld.shared"))
        if full and Feature.TMA in self.features and boxes(kind.shape, contiguous, shared) is not None:
            yield "boxed_read", found
        if full and not self.boxed:
            yield "ahead_read", found
