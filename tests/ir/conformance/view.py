# ruff: noqa: E501
"""Views: their types, how they are made, and accesses through them."""

from __future__ import annotations

from tests.ir.conformance import Case, case

MATRIX = "tensor_view<64x64xf32, strides=[64,1]>"
TILES = f"partition_view<tile=(4x8), {MATRIX}>"
STEPS = f"strided_view<tile=(4x8), traversal_strides=[4,1], {MATRIX}>"
BASE = "%p: tile<ptr<f32>>"
SIZED = f"{BASE}, %n: tile<i64>"
COUNTS = "tensor_view<2x2xi32, strides=[2,1]>"


def typed(kind: str, condition: str, type_: str, says: str, lines: int = 1) -> Case:
    """A parameter of a type that does not exist."""
    return case(kind, condition, f"%a: {type_}", "return", says, lines)


def viewed(
    kind: str, tile: str, condition: str, says: str, rest: str = "", view: str = MATRIX, steps: str = "4,1"
) -> Case:
    """A view of tiles whose type does not exist."""
    strides = f", traversal_strides=[{steps}]" if kind == "strided_view" else ""
    return typed(kind, condition, f"{kind}<tile=({tile}){strides}, {view}{rest}>", says)


def made(condition: str, parameters: str, form: str, says: str, lines: int = 1) -> Case:
    """A make_tensor_view."""
    return case("make_tensor_view", condition, parameters, f"%x = make_tensor_view %p, {form}", says, lines)


def counted(condition: str, sizes: tuple[int, int], view: str, says: str) -> Case:
    """A make_tensor_view in generic form with so many dynamic sizes and strides."""
    total = sum(sizes)
    segments = f"operandSegmentSizes = array<i32: 1, {sizes[0]}, {sizes[1]}>"
    operands, types = ", %n" * total, ", tile<i64>" * total
    body = f'%x = "cuda_tile.make_tensor_view"(%p{operands}) <{{{segments}}}> : (tile<ptr<f32>>{types}) -> {view}'
    return case("make_tensor_view", condition, SIZED, body, says)


def accessed(
    name: str,
    condition: str,
    view: str,
    says: str,
    index: str = "%i, %i",
    extra: str = "",
    lines: int = 1,
    head: str = "weak",
    tile: str = "tile<4x8xf32>",
    tail: str = "token",
    written: str = "tile<i32>",
) -> Case:
    """A load or a store through a view."""
    parameters = f"%v: {view}, %i: tile<i32>, %w: tile<i64>, %a: {tile}, %l: tile<1xi32>{extra}"
    if name == "load_view_tko":
        body = f"%x, %t = load_view_tko {head} %v[{index}] : {view}, {written} -> {tile}, {tail}"
    else:
        body = f"%t = store_view_tko {head} %a, %v[{index}] : {tile}, {view}, {written} -> {tail}"
    return case(name, condition, parameters, body, says, lines)


def reduced(
    condition: str,
    says: str,
    head: str = "relaxed device",
    mode: str = "add",
    index: str = "%i, %i",
    view: str = f"partition_view<tile=(2x2), {COUNTS}>",
    value: str = "tile<2x2xi32>",
    lines: int = 1,
) -> Case:
    """An atomic reduction into a view."""
    written = "tile<1xi32>" if "%l" in index else "tile<i32>"
    body = f"%t = atomic_red_view_tko {head} %v[{index}], {mode}, %a : {value}, {view}, {written} -> token"
    return case(
        "atomic_red_view_tko", condition, f"%v: {view}, %a: {value}, %i: tile<i32>, %l: tile<1xi32>", body, says, lines
    )


def tensor_views() -> list[Case]:
    """tensor_view and make_tensor_view."""
    fits = "does not fit the view's type"
    return [
        typed("tensor_view", "strides of a scalar", "tensor_view<f32, strides=[]>", "a tensor_view of rank 0 has no strides"),
        typed("tensor_view", "a negative stride", "tensor_view<?xf32, strides=[-5]>", "static stride -5 is not positive"),
        typed("tensor_view", "a stride of zero", "tensor_view<?xf32, strides=[0]>", "static stride 0 is not positive"),
        typed("tensor_view", "more strides than sizes", "tensor_view<?xf32, strides=[4, 1]>", "a tensor_view of rank 1 cannot have 2 strides"),
        typed("tensor_view", "the least 64-bit number as stride", "tensor_view<?xf32, strides=[-9223372036854775808]>", "static stride -9223372036854775808 is not positive"),
        typed("tensor_view", "a stride left out", "tensor_view<?x32xf32, strides=[, 32]>", "is not a type"),
        typed("tensor_view", "no strides", "tensor_view<2xf32>", "a tensor_view of rank 1 cannot have 0 strides"),
        typed("tensor_view", "a comma after the element type", "tensor_view<f16,>", "is not a type"),
        typed("tensor_view", "a size of zero", "tensor_view<0xf32, strides=[1]>", "static size 0 is not positive"),
        typed("tensor_view", "elements that are pointers", "tensor_view<32xptr<f32>, strides=[1]>", "is not a type"),
        typed("tensor_view", "elements of i4", "tensor_view<32xi4, strides=[1]>", "i4 cannot be stored in memory", 0),
        counted("a size that the type does not ask for", (1, 0), "tensor_view<32xf32, strides=[1]>", "operand 'dynamic_shape' has 1 values, tensor_view<32xf32, strides=[1]> needs 0"),
        counted("a stride that the type does not ask for", (0, 1), "tensor_view<32xf32, strides=[1]>", "operand 'dynamic_strides' has 1 values, tensor_view<32xf32, strides=[1]> needs 0"),
        counted("no size where the type asks for one", (0, 0), "tensor_view<?xf32, strides=[1]>", "operand 'dynamic_shape' has 0 values, tensor_view<?xf32, strides=[1]> needs 1"),
        counted("no stride where the type asks for one", (0, 0), "tensor_view<32xf32, strides=[?]>", "operand 'dynamic_strides' has 0 values, tensor_view<32xf32, strides=[?]> needs 1"),
        made("a pointer to other elements", BASE, "shape = [8], strides = [1] : tensor_view<8xf64, strides=[1]>", "operand 'base' points to f32, the view's element is f64", 2),
        made("no sizes", BASE, f"shape = [], strides = [64, 1] : {MATRIX}", "shape has 0 entries, the view's type 2", 2),
        made("no strides", BASE, f"shape = [64, 64], strides = [] : {MATRIX}", "strides has 0 entries, the view's type 2", 2),
        made("another size than the type's", BASE, f"shape = [64, 32], strides = [64, 1] : {MATRIX}", f"shape {fits} {MATRIX}", 2),
        made("another stride than the type's", BASE, f"shape = [64, 64], strides = [32, 1] : {MATRIX}", f"strides {fits} {MATRIX}", 2),
        made("a value where the type has a size", SIZED, f"shape = [64, %n], strides = [64, 1] : tile<i64> -> {MATRIX}", f"shape {fits}", 2),
        made("a number where the type has a dynamic size", BASE, "shape = [32], strides = [1] : tensor_view<?xf32, strides=[1]>", f"shape {fits}", 2),
        made("a value where the type has a stride", SIZED, f"shape = [64, 64], strides = [%n, 1] : tile<i64> -> {MATRIX}", f"strides {fits}", 2),
        made("a number where the type has a dynamic stride", BASE, "shape = [32], strides = [1] : tensor_view<32xf32, strides=[?]>", f"strides {fits}", 2),
        made("a word in place of a size", BASE, "shape = [32, many], strides = [1, 1] : tensor_view<f32>", "expected an integer for a size, found 'many'", 2),
        made("pointers in place of sizes", BASE, "shape = [%p], strides = [1] : tile<ptr<f32>> -> tensor_view<?xf32, strides=[1]>", "operand 'dynamic_shape' must be a scalar tile of integers, is tile<ptr<f32>>"),
        made("a pointer attribute that the view does not keep", "%p: tile<ptr<f32, #cuda_tile.ptr_attr<none>>>", "shape = [8], strides = [1] : tile<ptr<f32, #cuda_tile.ptr_attr<none>>> -> tensor_view<8xf32, strides=[1]>", "the pointer attribute of operand 'base' is none, the view's none at all", 0),
        made("a pointer attribute that the base does not have", BASE, "shape = [8], strides = [1] : tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<none>>", "the pointer attribute of operand 'base' is none at all, the view's none", 0),
    ]  # fmt: skip


def tile_views() -> list[Case]:
    """partition_view, strided_view and what makes them."""
    found: list[Case] = []
    for kind in ("partition_view", "strided_view"):
        name = f"make_{kind}"
        other = f"operand 'tensor_view' has type {{}}, the result is {kind}"
        result = TILES if kind == "partition_view" else STEPS
        use = f"%x = {name} %v : {result}"
        found += [
            viewed(kind, "4x8", "a dim_map for another rank", "dim_map has 1 entries for a tile of rank 2", ", dim_map=[0]"),
            viewed(kind, "4x8", "a dim_map outside of the view", "dim_map [2, 1] must name each dimension of the view once", ", dim_map=[2, 1]"),
            viewed(kind, "4x8", "a dimension mapped twice", "dim_map [0, 0] must name each dimension of the view once", ", dim_map=[0, 0]"),
            viewed(kind, "4x8", "a negative dimension in dim_map", "dim_map [-1, 1] must name each dimension of the view once", ", dim_map=[-1, 1]"),
            viewed(kind, "5x8", "tile sizes that are no powers of two", "dimension 5 is not a positive power of two"),
            viewed(kind, "1099511627776x8", "a tile size beyond 32 bits", "tile dimension 1099511627776 does not fit in 32 bits"),
            viewed(kind, "1x1", "a tile of another rank than the view", "the tile has 2 dimensions, the view 3", view="tensor_view<8x8x64xf32, strides=[512,64,1]>", steps="1,1"),
            viewed(kind, "", "a tile without dimensions", "a partition needs a dimension", view="tensor_view<f32>", steps=""),
            case(name, "a view of other elements", "%v: tensor_view<64x64xf64, strides=[64,1]>", use, other.format("tensor_view<64x64xf64, strides=[64,1]>")),
            case(name, "a view of other sizes", "%v: tensor_view<64x32xf32, strides=[64,1]>", use, other.format("tensor_view<64x32xf32, strides=[64,1]>")),
        ]  # fmt: skip
    nested = f"%v: {TILES}"
    return [
        *found,
        viewed("strided_view", "4x8", "traversal strides for another rank", "traversal_strides [1] must be 2 positive numbers", steps="1"),
        viewed("strided_view", "4x8", "a traversal stride of zero", "traversal_strides [1, 0] must be 2 positive numbers", steps="1,0"),
        viewed("strided_view", "4x8", "a negative traversal stride", "traversal_strides [1, -1] must be 2 positive numbers", steps="1,-1"),
        case("make_partition_view", "a tensor view as result", f"%v: {MATRIX}", f"%x = make_partition_view %v : {MATRIX} -> {TILES}", "'->' is not an operation"),
        case("make_partition_view", "a view of a view", nested, f"%x = make_partition_view %v : partition_view<tile=(4x4), {TILES}>", "is not a type"),
        case("make_strided_view", "a view of a view", nested, f"%x = make_strided_view %v : strided_view<tile=(4x4), traversal_strides=[4,4], {TILES}>", "is not a type"),
        case("make_gather_scatter_view", "a view of a view", nested, f"%x = make_gather_scatter_view %v : gather_scatter_view<tile=(4x4), {TILES}, sparse_dim=0>", "is not a type"),
    ]  # fmt: skip


def queries() -> list[Case]:
    """Sizes of views."""
    generic = '%x:3 = "cuda_tile.{}"(%v) : ({}) -> (tile<i32>, tile<i32>, tile<i32>)'
    found: list[Case] = []
    for name, view, lines in (("get_tensor_shape", MATRIX, 1), ("get_index_space_shape", TILES, 1)):
        found += [
            case(name, "more names than dimensions", f"%v: {view}", f"%x, %y, %z = {name} %v : {view} -> tile<i32>", f"'cuda_tile.{name}' has 2 results, but 3 are named", lines),
            case(name, "more results than dimensions in generic form", f"%v: {view}", generic.format(name, view), f"must have 2 results for operand 'src' {view}, has 3", lines),
        ]  # fmt: skip
    pointers = "tile<8x8xptr<i32>>"
    return [
        *found,
        case("get_tensor_shape", "a tile in place of the view", f"%v: {pointers}", f"%x = get_tensor_shape %v : {pointers} -> tile<i32>", f"operand 'src' must be a tensor view, is {pointers}"),
        case("get_tensor_shape", "results that are no scalars", f"%v: {MATRIX}", f"%x, %y = get_tensor_shape %v : {MATRIX} -> tile<2xi32>", "results must be a scalar tile of integers, one is tile<2xi32>"),
        case("get_index_space_shape", "a tile in place of the view", f"%v: {pointers}", f"%x = get_index_space_shape %v : {pointers} -> tile<i32>", f"operand 'src' must be a partition, strided or gather-scatter view, is {pointers}", 0),
    ]  # fmt: skip


def accesses() -> list[Case]:
    """Loads and stores through views."""
    found: list[Case] = []
    for view in (TILES, STEPS):
        kind = view.partition("<")[0]
        index, types = (
            "operand 'index' has {} values, the view 2 dimensions",
            "operand 'index' has type tile<i64> for dimension 1, must have tile<i32>",
        )
        found += [
            accessed("load_view_tko", f"a result of another shape than the {kind}'s", view, "'tile' has type tile<8xf32>, the view's tiles are tile<4x8xf32>", tile="tile<8xf32>"),
            accessed("load_view_tko", f"an index too few for a {kind}", view, index.format(1), "%i"),
            accessed("load_view_tko", f"indices of different type for a {kind}", view, types, "%i, %w"),
            case("load_view_tko", f"no index for a {kind}", f"%v: {view}", f"%x, %t = load_view_tko weak %v[] : {view} -> tile<4x8xf32>, token", index.format(0)),
            accessed("store_view_tko", f"an index too few for a {kind}", view, index.format(1), "%i"),
            accessed("store_view_tko", f"indices of different type for a {kind}", view, types, "%i, %w"),
            accessed("store_view_tko", f"an index of a {kind} that is no scalar", view, "operand 'index' has type tile<1xi32> for dimension 0, must have tile<i32>", "%l, %l", written="tile<1xi32>"),
        ]  # fmt: skip
    tile = "tile<32xf32>"
    relaxed, scope = "must be weak or relaxed or {}, is {}", "expected a memory scope or a value, found 'nearby'"
    return [
        *found,
        case("load_view_tko", "a tile in place of the view", f"%v: {tile}, %i: tile<i32>", f"%x, %t = load_view_tko weak %v[%i] : {tile}, tile<i32> -> tile<8xf32>, token", f"operand 'view' must be a partition, strided or gather-scatter view, is {tile}"),
        case("store_view_tko", "a tile in place of the view", f"%v: {tile}, %i: tile<i32>", f"%t = store_view_tko weak %v, %v[%i] : {tile}, {tile}, tile<i32> -> token", f"operand 'view' must be a partition, strided or gather-scatter view, is {tile}"),
        *[
            case(f"{name}_view_tko", condition, f"%v: partition_view<tile=(2x2), {view}>, %i: tile<i32>, %a: tile<2x2xf4E2M1FN>", body.format(f"partition_view<tile=(2x2), {view}>"), f"packed along the one dimension whose static stride is 1, {view} has {count} of them", 0)
            for name, body in (("load", "%x, %t = load_view_tko weak %v[%i, %i] : {}, tile<i32> -> tile<2x2xf4E2M1FN>, token"), ("store", "%t = store_view_tko weak %a, %v[%i, %i] : tile<2x2xf4E2M1FN>, {}, tile<i32> -> token"))
            for condition, view, count in (("elements of four bits without a unit stride", "tensor_view<8x8xf4E2M1FN, strides=[16,2]>", 0), ("elements of four bits with an unknown stride", "tensor_view<8x8xf4E2M1FN, strides=[8,?]>", 0), ("elements of four bits with two unit strides", "tensor_view<8x8xf4E2M1FN, strides=[1,1]>", 2))
        ],
        accessed("load_view_tko", "release", TILES, relaxed.format("acquire", "release"), head="release device", lines=2),
        accessed("store_view_tko", "acquire", TILES, relaxed.format("release", "acquire"), head="acquire device", lines=2),
        accessed("load_view_tko", "weak with a scope", TILES, "attribute 'scope' is device, but a weak access has no scope", head="weak device"),
        accessed("store_view_tko", "weak with a scope", TILES, "attribute 'scope' is tl_blk, but a weak access has no scope", head="weak tl_blk"),
        accessed("load_view_tko", "an unknown ordering", TILES, "expected a memory ordering, found 'sometimes'", head="sometimes"),
        accessed("store_view_tko", "an unknown ordering", TILES, "expected a memory ordering, found 'sometimes'", head="sometimes"),
        accessed("load_view_tko", "an unknown scope", TILES, scope, head="relaxed nearby"),
        accessed("store_view_tko", "an unknown scope", TILES, scope, head="relaxed nearby"),
        accessed("load_view_tko", "a result that is no token", TILES, "result 'result_token' must be a token, is i32", tail="i32"),
        accessed("store_view_tko", "a result that is no token", TILES, "result 'result_token' must be a token, is i32", tail="i32"),
        case("load_view_tko", "a number in place of the token", f"%v: {TILES}, %i: tile<i32>, %t: i32", f"%x, %y = load_view_tko weak %v[%i, %i] token = %t : {TILES}, tile<i32> -> tile<4x8xf32>, token", "operand 'token' must be a token, is i32"),
        case("load_view_tko", "numbers in place of both tokens", f"%v: {TILES}, %i: tile<i32>, %t: i32", f"%x, %y = load_view_tko weak %v[%i, %i] token = %t : {TILES}, tile<i32> -> tile<4x8xf32>, i32", "operand 'token' must be a token, is i32"),
    ]  # fmt: skip


def updates() -> list[Case]:
    """Atomic reductions into views."""
    floats = "tensor_view<2x2xf32, strides=[2,1]>"
    padded = "operand 'view' {} has a padding value, which an update cannot use"
    partition, strided = (
        f"partition_view<tile=(2x2), padding_value = zero, {COUNTS}>",
        f"strided_view<tile=(2x2), traversal_strides=[2,2], padding_value = zero, {COUNTS}>",
    )
    gather = "gather_scatter_view<tile=(16x16), tensor_view<1024x16xi32, strides=[16,1]>, sparse_dim=0>"
    tiles = "'value' has type {}, the view's tiles are {}"
    return [
        reduced("weak", "attribute 'order' must be relaxed, is weak", head="weak device"),
        reduced("xchg", "mode xchg needs the old value", mode="xchg"),
        reduced("the scope of the system", "attribute 'scope' must be tl_blk or device, is sys", head="relaxed sys"),
        reduced("a value of another element type", tiles.format("tile<2x2xf32>", "tile<2x2xi32>"), mode="addf", value="tile<2x2xf32>"),
        reduced("a value of another shape", tiles.format("tile<4x4xi32>", "tile<2x2xi32>"), value="tile<4x4xi32>", lines=2),
        reduced("add of floats", "mode add needs i32 or i64, operand 'value' is tile<2x2xf32>", view=f"partition_view<tile=(2x2), {floats}>", value="tile<2x2xf32>"),
        reduced("addf of integers", "mode addf needs f16, bf16, f32 or f64, operand 'value' is tile<2x2xi32>", mode="addf"),
        reduced("an index too few", "operand 'index' has 1 values, the view 2 dimensions", index="%i"),
        reduced("an index that is no scalar", "operand 'index' has type tile<1xi32> for dimension 0, must have tile<i32>", index="%l, %l"),
        case("atomic_red_view_tko", "a gather-scatter view", f"%v: {gather}, %a: tile<16x16xi32>, %l: tile<16xi32>, %i: tile<i32>", f"%t = atomic_red_view_tko relaxed device %v[%l, %i], add, %a : tile<16x16xi32>, {gather}, tile<16xi32>, tile<i32> -> token", "operand 'view' must be a partition or strided view"),
        reduced("a partition view with padding", padded.format(partition), view=partition),
        reduced("a strided view with padding", padded.format(strided), view=strided),
    ]  # fmt: skip


def multicast_array(element: str, strides: str = "8,1", attr: str = ", #cuda_tile.ptr_attr<multicast>") -> str:
    """A tensor view of 8 x 8 elements of multicast memory."""
    return f"tensor_view<8x8x{element}, strides=[{strides}]{attr}>"


def multicast(
    name: str,
    condition: str,
    element: str,
    says: str,
    head: str = "weak",
    reduction: str = "add",
    array: str = "",
    tile: str = "4x4",
    view: str = "",
) -> Case:
    """A multimem operation, bytecode of 13.5: the public suite has none."""
    view = view or f"partition_view<tile=({tile}), {array or multicast_array(element)}>"
    value = f"tile<{tile}x{element}>"
    kind = f" attributes {{reduction = #cuda_tile.multimem_reduction_kind<{reduction}>}}" if reduction != "add" else ""
    load = name == "multimem_load_reduce_view_tko"
    operands, types = ("%v", view) if load else ("%v, %a", f"{view}, {value}")
    results, names = (f"{value}, token", "%x, %t") if load else ("token", "%t")
    body = f"{names} = {name} {head} {operands}[%i, %i]{kind} : {types}, tile<i32> -> {results}"
    return case(name, condition, f"%v: {view}, %a: {value}, %i: tile<i32>", body, says, 0)


def multimem() -> list[Case]:
    """Multicast arrays: what takes them, and what the multimem operations take."""
    only = "is multicast, which only the multimem operations accept"
    floats, pointers = multicast_array("f32"), "tile<ptr<f32, <multicast>>>"
    tiles, value = f"partition_view<tile=(4x4), {floats}>", "tile<4x4xf32>"
    load, reduce, store = "multimem_load_reduce_view_tko", "multimem_reduce_view_tko", "multimem_store_view_tko"
    parameters = f"%v: {tiles}, %a: {value}, %i: tile<i32>"
    found = [
        case("load_ptr_tko", "a multicast pointer", f"%p: {pointers}", f"%x, %t = load_ptr_tko weak %p : {pointers} -> tile<f32>, token", f"operand 'source' {only}", 0),
        case("store_ptr_tko", "a multicast pointer", f"%p: {pointers}, %a: tile<f32>", f"%t = store_ptr_tko weak %p, %a : {pointers}, tile<f32> -> token", f"operand 'destination' {only}", 0),
        case("atomic_rmw_tko", "a multicast pointer", f"%p: {pointers}, %a: tile<f32>", f"%x, %t = atomic_rmw_tko relaxed device %p, addf, %a : {pointers}, tile<f32> -> tile<f32>, token", f"operand 'pointers' {only}", 0),
        case("atomic_cas_tko", "a multicast pointer", f"%p: {pointers}, %a: tile<f32>", f"%x, %t = atomic_cas_tko relaxed device %p, %a, %a : {pointers}, tile<f32> -> tile<f32>, token", f"operand 'pointers' {only}", 0),
        case("load_view_tko", "a multicast view", parameters, f"%x, %t = load_view_tko weak %v[%i, %i] : {tiles}, tile<i32> -> {value}, token", f"operand 'view' {only}", 0),
        case("store_view_tko", "a multicast view", parameters, f"%t = store_view_tko weak %a, %v[%i, %i] : {value}, {tiles}, tile<i32> -> token", f"operand 'view' {only}", 0),
        case("atomic_red_view_tko", "a multicast view", parameters, f"%t = atomic_red_view_tko relaxed device %v[%i, %i], addf, %a : {value}, {tiles}, tile<i32> -> token", f"operand 'view' {only}", 0),
        multicast(load, "release", "f32", "attribute 'order' must be weak or relaxed or acquire", "release device"),
        multicast(store, "acquire", "f32", "attribute 'order' must be weak or relaxed or release", "acquire device"),
        multicast(reduce, "acq_rel", "f32", "attribute 'order' must be relaxed or release, is acq_rel", "acq_rel device"),
        multicast(load, "max of f32", "f32", f"reduction max needs integers or 16-bit floats, the tile is {value}", reduction="max"),
        multicast(load, "xor of f16", "f16", "reduction xor needs integers, the tile is tile<4x4xf16>", reduction="xor"),
        multicast(reduce, "min of f16", "f16", "reduction min needs integers, the tile is tile<4x4xf16>", "relaxed device", reduction="min"),
        multicast(load, "two bytes in all", "f16", "a multicast tile of floats must be a multiple of 4 bytes, not 2", tile="1x1"),
    ]  # fmt: skip
    for name, head in ((load, "weak"), (reduce, "relaxed device"), (store, "weak")):
        plain, packed = multicast_array("f32", attr=""), multicast_array("f16", strides="16,2")
        steps = f"strided_view<tile=(4x4), traversal_strides=[4,4], {floats}>"
        found += [
            multicast(name, "a view that is not multicast", "f32", f"must be of a multicast pointer, ptr<f32, <multicast>>, is partition_view<tile=(4x4), {plain}>", head, array=plain),
            multicast(name, "a strided view", "f32", f"operand 'view' must be a partition view, is {steps}", head, view=steps),
            multicast(name, "elements of i16", "i16", "multicast elements are i32, i64, f16, bf16, f32, f64, operand 'view' is", head),
            multicast(name, "elements of tf32", "tf32", "multicast elements are i32, i64, f16, bf16, f32, f64, operand 'view' is", head),
            multicast(name, "elements of f16 without a unit stride", "f16", f"16-bit multicast elements need one dimension whose static stride is 1, {packed} has 0 of them", head, array=packed),
        ]  # fmt: skip
    return found


def cases() -> list[Case]:
    """The cases of this page."""
    return [*tensor_views(), *tile_views(), *queries(), *accesses(), *updates(), *multimem()]
