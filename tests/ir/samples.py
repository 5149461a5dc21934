# ruff: noqa: E501
"""One use of every operation, and one that must be refused: (mnemonic, right, wrong, what the message says)."""

SETUP = """
  %tok = make_token : token
  %b = constant <i1: true> : tile<i1>
  %n = constant <i32: 2> : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %w = constant <i64: 3> : tile<i64>
  %i = constant <i32: [3, -7, 2, 9, -1, 5, 8, 4]> : tile<8xi32>
  %j = constant <i32: [2, 3, -5, 1, 7, -2, 6, 4]> : tile<8xi32>
  %l = constant <i64: [1, 2, 3, 4, 5, 6, 7, 8]> : tile<8xi64>
  %f = constant <f32: [0.5, -1.5, 2.25, 3.0, -0.75, 1.25, 4.5, 0.125]> : tile<8xf32>
  %g = constant <f32: [1.5, 2.5, -0.5, 0.25, 3.5, -2.0, 1.0, 0.75]> : tile<8xf32>
  %m = constant <i1: [true, false, true, true, false, false, true, false]> : tile<8xi1>
  %s = constant <f32: 1.5> : tile<f32>
  %sq = constant <f32: 0.5> : tile<8x4xf32>
  %qs = constant <f32: 0.25> : tile<4x8xf32>
  %acc = constant <f32: 1.0> : tile<8x8xf32>
  %h = constant <f16: 0.5> : tile<16x16xf16>
  %hacc = constant <f32: 0.0> : tile<16x16xf32>
  %c = constant <i8: 3> : tile<16x32xi8>
  %cr = constant <i8: -2> : tile<32x16xi8>
  %cacc = constant <i32: 7> : tile<16x16xi32>
  %e = constant <f8E4M3FN: 0.5> : tile<16x32xf8E4M3FN>
  %er = constant <f8E4M3FN: 0.25> : tile<32x16xf8E4M3FN>
  %sc = constant <f8E8M0FNU: 2.0> : tile<16x1xf8E8M0FNU>
  %scr = constant <f8E8M0FNU: 0.5> : tile<1x16xf8E8M0FNU>
  %pi = iota : tile<8xi32>
  %rp = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %bp = broadcast %rp : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %ps = offset %bp, %pi : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %rq = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %bq = broadcast %rq : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %qp = offset %bq, %pi : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %v = make_tensor_view %p, shape = [8, 8], strides = [8, 1] : tensor_view<8x8xf32, strides=[8,1]>
  %pv = make_partition_view %v : partition_view<tile=(4x4), tensor_view<8x8xf32, strides=[8,1]>>
"""
VIEW = "tensor_view<8x8xf32, strides=[8,1]>"
PART = f"partition_view<tile=(4x4), {VIEW}>"
MANY = "tensor_view<8x8xf32, strides=[8,1], #cuda_tile.ptr_attr<multicast>>"
CAST = f"partition_view<tile=(4x4), {MANY}>"
MULTICAST = f"""%mp = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>>
  %mv = make_tensor_view %mp, shape = [8, 8], strides = [8, 1] : tile<ptr<f32, <multicast>>> -> {MANY}
  %mw = make_partition_view %mv : {CAST}
  %y, %z = load_view_tko weak %pv[%one, %zero] : {PART}, tile<i32> -> tile<4x4xf32>, token
  """
STRIDED = f"strided_view<tile=(4x4), traversal_strides=[2,2], {VIEW}>"
GATHER = f"gather_scatter_view<tile=(8x4), padding_value = zero, {VIEW}, sparse_dim=0>"
F, N, B = "tile<8xf32>", "tile<8xi32>", "tile<8xi1>"


def unary(name, extra=""):
    return (name, f"%x = {name} %f{extra} : {F}", f"%x = {name} %i{extra} : {N}", "operand 'source' must be a tile of")


def floats(name, extra=""):
    return (name, f"%x = {name} %f, %g{extra} : {F}", f"%x = {name} %i, %j{extra} : {N}", "must be a tile of f16")


def integers(name, extra=""):
    return (name, f"%x = {name} %i, %j{extra} : {N}", f"%x = {name} %f, %g{extra} : {F}", "must be a tile of integers")


SAMPLES = [
    *(unary(n) for n in ("absf", "ceil", "cos", "cosh", "exp", "exp2", "floor", "log", "log2", "negf", "rsqrt")),
    *(unary(n) for n in ("sin", "sinh", "sqrt", "tan", "tanh")),
    *(floats(n) for n in ("addf", "subf", "mulf", "divf", "remf", "maxf", "minf", "atan2", "fpowf")),
    *(integers(n) for n in ("addi", "subi", "muli", "mulhii", "andi", "ori", "xori", "shli")),
    *(integers(n, " signed") for n in ("divi", "remi", "maxi", "mini", "shri")),
    ("absi", f"%x = absi %i : {N}", f"%x = absi %f : {F}", "must be a tile of integers"),
    ("negi", f"%x = negi %i : {N}", f"%x = negi %f : {F}", "must be a tile of integers"),
    ("fma", f"%x = fma %f, %g, %f : {F}", f"%x = fma %i, %j, %i : {N}", "must be a tile of f16"),
    ("fpowi", f"%x = fpowi %f, %i : {F}, {N}", f"%x = fpowi %f, %n : {F}, tile<i32>", "must have the shape of"),
    ("cmpi", f"%x = cmpi less_than %i, %j, signed : {N} -> {B}", f"%x = cmpi equal %f, %g, signed : {F} -> {B}",
     "must be a tile of integers"),
    ("cmpf", f"%x = cmpf less_than ordered %f, %g : {F} -> {B}", f"%x = cmpf equal ordered %i, %j : {N} -> {B}",
     "must be a tile of f16"),
    ("select", f"%x = select %m, %f, %g : {B}, {F}", f"%x = select %b, %f, %g : tile<i1>, {F}", "must have the shape of"),
    ("bitcast", f"%x = bitcast %f : {F} -> {N}", f"%x = bitcast %f : {F} -> tile<8xi64>", "32 bits cannot be read as 64"),
    ("exti", f"%x = exti %i signed : {N} -> tile<8xi64>", f"%x = exti %i signed : {N} -> tile<8xi16>", "must be wider"),
    ("trunci", f"%x = trunci %i : {N} -> tile<8xi8>", f"%x = trunci %i : {N} -> tile<8xi64>", "must be narrower"),
    ("ftof", f"%x = ftof %f : {F} -> tile<8xbf16>", f"%x = ftof %f : {F} -> {F}", "operand and result have the same type"),
    ("ftoi", f"%x = ftoi %f signed : {F} -> {N}", f"%x = ftoi %i signed : {N} -> {N}", "must be a tile of floats"),
    ("itof", f"%x = itof %i signed : {N} -> {F}", f"%x = itof %f signed : {F} -> {F}", "must be a tile of integers"),
    ("int_to_ptr", "%x = int_to_ptr %l : tile<8xi64> -> tile<8xptr<f32>>",
     f"%x = int_to_ptr %i : {N} -> tile<8xptr<f32>>", "must be a tile of i64"),
    ("ptr_to_int", "%x = ptr_to_int %ps : tile<8xptr<f32>> -> tile<8xi64>",
     f"%x = ptr_to_int %ps : tile<8xptr<f32>> -> {N}", "must be a tile of i64"),
    ("ptr_to_ptr", "%x = ptr_to_ptr %ps : tile<8xptr<f32>> -> tile<8xptr<i8>>",
     f"%x = ptr_to_ptr %i : {N} -> tile<8xptr<i8>>", "must be a tile of pointers"),
    ("constant", "%x = constant <f16: [1.0, 2.0]> : tile<2xf16>", "%x = constant <i4: 1> : tile<2xi4>",
     "must be a tile of numbers other than i4"),
    ("iota", "%x = iota : tile<16xi64>", "%x = iota : tile<4x4xi32>", "must have one dimension"),
    ("reshape", f"%x = reshape %f : {F} -> tile<2x4xf32>", f"%x = reshape %f : {F} -> tile<4xf32>",
     "cannot be reshaped"),
    ("broadcast", "%x = broadcast %rp : tile<1xptr<f32>> -> tile<4xptr<f32>>",
     f"%x = broadcast %f : {F} -> tile<16xf32>", "cannot be broadcast"),
    ("permute", "%x = permute %sq [1, 0] : tile<8x4xf32> -> tile<4x8xf32>",
     "%x = permute %sq [1, 1] : tile<8x4xf32> -> tile<4x4xf32>", "must name each dimension"),
    ("cat", f"%x = cat %f, %g dim = 0 : {F}, {F} -> tile<16xf32>", f"%x = cat %f, %g dim = 1 : {F}, {F} -> tile<16xf32>",
     "dim 1 does not exist"),
    ("extract", f"%x = extract %f[%one] : {F} -> tile<4xf32>", f"%x = extract %f[%one, %one] : {F} -> tile<4xf32>",
     "2 indices for operand"),
    ("insert", "%x = insert %qs, %acc[%one, %zero] : tile<4x8xf32>, tile<8x8xf32>",
     "%x = insert %acc, %qs[%one, %zero] : tile<8x8xf32>, tile<4x8xf32>", "does not tile"),
    ("pack", f"%x = pack %f : {F} -> tile<32xi8>", f"%x = pack %f : {F} -> tile<16xi8>", "has 256 bits"),
    ("unpack", "%y = pack %f : tile<8xf32> -> tile<32xi8>\n  %x = unpack %y : tile<32xi8> -> tile<64xf4E2M1FN>",
     f"%x = unpack %f : {F} -> tile<8xi32>", "must be a tile of i8"),
    ("offset", "%x = offset %ps, %j : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>",
     "%x = offset %ps, %n : tile<8xptr<f32>>, tile<i32> -> tile<8xptr<f32>>", "must have the shape of"),
    ("assume", "%x = assume div_by<1>, %n : tile<i32>", "%x = assume div_by<3>, %n : tile<i32>", "power of two"),
    ("get_tile_block_id", "%x, %y, %z = get_tile_block_id : tile<i32>", "%x, %y, %z = get_tile_block_id : tile<i64>",
     "must be a scalar tile of i32"),
    ("get_num_tile_blocks", "%x, %y, %z = get_num_tile_blocks : tile<i32>",
     "%x, %y, %z = get_num_tile_blocks : tile<f32>", "must be a scalar tile of i32"),
    ("make_token", "%x = make_token : token", "%x = make_token : tile<i32>", "must be a token"),
    ("join_tokens", "%x = join_tokens %tok, %tok : token", "%x = join_tokens %tok : token", "at least two"),
    ("memory_fence_alias_tko", "%x = memory_fence_alias_tko %tok", "%x = memory_fence_alias_tko %n", "must be a token"),
    ("gdc_launch_dependents_tko", "%x = gdc_launch_dependents_tko token = %tok -> token",
     "%x = gdc_launch_dependents_tko token = %n -> token", "must be a token"),
    ("gdc_wait_tko", "%x = gdc_wait_tko -> token", "%x = gdc_wait_tko token = %n -> token", "must be a token"),
    ("print_tko", f'%x = print_tko "%i: %5.2f of %%\\0A", %n, %f token=%tok : tile<i32>, {F} -> token',
     '%x = print_tko "%i %i", %n : tile<i32> -> token', "converts 2 operands, got 1"),
    ("assert", 'assert %b, "never" : tile<i1>', f'assert %i, "never" : {N}', "must be a tile of i1"),
    ("alloca", "%x = alloca num_elem = 16, alignment = 16 : tile<ptr<f32>>",
     "%x = alloca num_elem = 16, alignment = 3 : tile<ptr<f32>>", "power of two"),
    ("get_global", "%x = get_global @data : tile<ptr<f32>>", "%x = get_global @nothing : tile<ptr<f32>>",
     "no global @nothing"),
    ("make_tensor_view", f"%x = make_tensor_view %p, shape = [8, 4], strides = [4, 1] : {VIEW.replace('8x8', '8x4').replace('[8', '[4')}",
     "%x = make_tensor_view %q, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>", "points to i32"),
    ("make_partition_view", f"%x = make_partition_view %v : {PART}",
     "%x = make_partition_view %v : partition_view<tile=(4), tensor_view<8xf32, strides=[1]>>", "operand 'tensor_view' has type"),
    ("make_strided_view", f"%x = make_strided_view %v : {STRIDED}",
     "%x = make_strided_view %v : strided_view<tile=(4), traversal_strides=[4], tensor_view<8xf32, strides=[1]>>",
     "operand 'tensor_view' has type"),
    ("make_gather_scatter_view", f"%x = make_gather_scatter_view %v : {GATHER}",
     f"%x = make_gather_scatter_view %v : gather_scatter_view<tile=(4x4), {VIEW}, sparse_dim=2>", "sparse_dim"),
    ("get_index_space_shape", f"%x:2 = get_index_space_shape %pv : {PART} -> tile<i32>",
     f"%x:2 = get_index_space_shape %pv : {PART} -> tile<f32>", "results must be"),
    ("get_tensor_shape", f"%x:2 = get_tensor_shape %v : {VIEW} -> tile<i64>",
     f"%x:2 = get_tensor_shape %v : {VIEW} -> tile<2xi64>", "results must be"),
    ("load_ptr_tko", f"%x, %y = load_ptr_tko weak %ps, %m, %f token=%tok : tile<8xptr<f32>>, {B}, {F} -> {F}, token",
     f"%x, %y = load_ptr_tko release device %ps : tile<8xptr<f32>> -> {F}, token", "attribute 'order' must be"),
    ("store_ptr_tko", f"%x = store_ptr_tko weak %ps, %f, %m token=%tok : tile<8xptr<f32>>, {F}, {B} -> token",
     f"%x = store_ptr_tko weak %ps, %i : tile<8xptr<f32>>, {N} -> token", "requires tile<8xf32>"),
    ("load_view_tko", f"%x, %y = load_view_tko weak %pv[%one, %zero] token = %tok : {PART}, tile<i32> -> tile<4x4xf32>, token",
     f"%x, %y = load_view_tko weak %pv[%one] : {PART}, tile<i32> -> tile<4x4xf32>, token", "has 1 values"),
    ("store_view_tko", f"%y, %z = load_view_tko weak %pv[%one, %zero] : {PART}, tile<i32> -> tile<4x4xf32>, token\n"
     f"  %x = store_view_tko weak %y, %pv[%zero, %one] : tile<4x4xf32>, {PART}, tile<i32> -> token",
     f"%x = store_view_tko weak %f, %pv[%zero, %one] : {F}, {PART}, tile<i32> -> token", "the view's tiles are"),
    ("atomic_rmw_tko", f"%x, %y = atomic_rmw_tko relaxed device %qp, add, %i, %m : tile<8xptr<i32>>, {N}, {B} -> {N}, token",
     f"%x, %y = atomic_rmw_tko relaxed device %qp, addf, %i : tile<8xptr<i32>>, {N} -> {N}, token", "mode addf needs"),
    ("atomic_cas_tko", f"%x, %y = atomic_cas_tko acq_rel sys %qp, %i, %j : tile<8xptr<i32>>, {N} -> {N}, token",
     f"%x, %y = atomic_cas_tko weak sys %qp, %i, %j : tile<8xptr<i32>>, {N} -> {N}, token", "attribute 'order' must be"),
    ("atomic_red_view_tko", f"%y, %z = load_view_tko weak %pv[%one, %zero] : {PART}, tile<i32> -> tile<4x4xf32>, token\n"
     f"  %x = atomic_red_view_tko relaxed device %pv[%zero, %one], addf, %y : tile<4x4xf32>, {PART}, tile<i32> -> token",
     f"%x = atomic_red_view_tko relaxed sys %pv[%zero, %one], addf, %acc : tile<8x8xf32>, {PART}, tile<i32> -> token",
     "attribute 'scope' must be"),
    ("multimem_load_reduce_view_tko",
     f"{MULTICAST}%x, %u = multimem_load_reduce_view_tko relaxed device %mw[%zero, %one] : {CAST}, tile<i32> -> tile<4x4xf32>, token",
     f"%x, %y = multimem_load_reduce_view_tko relaxed device %pv[%zero, %one] : {PART}, tile<i32> -> tile<4x4xf32>, token",
     "must be of a multicast pointer"),
    ("multimem_reduce_view_tko",
     f"{MULTICAST}%x = multimem_reduce_view_tko relaxed device %mw, %y[%zero, %one] : {CAST}, tile<4x4xf32>, tile<i32> -> token",
     f"%x = multimem_reduce_view_tko acquire device %pv, %acc[%zero, %one] : {PART}, tile<8x8xf32>, tile<i32> -> token",
     "attribute 'order' must be"),
    ("multimem_store_view_tko",
     f"{MULTICAST}%x = multimem_store_view_tko weak %mw, %y[%zero, %one] : {CAST}, tile<4x4xf32>, tile<i32> -> token",
     f"%x = multimem_store_view_tko weak device %pv, %acc[%zero, %one] : {PART}, tile<8x8xf32>, tile<i32> -> token",
     "attribute 'scope' is device"),
    ("preview_call", f"%x = preview$call @f(%f, %n) {{arg_attrs = [{{}}, {{a = 3 : i32, b = [1.5 : f32, true, \"c\", f16]}}]}} : (!cuda_tile.{F}, !cuda_tile.tile<i32>) -> !cuda_tile.{F}",
     f"%x = preview_call @f(%f) : ({N}) -> ({F})", "has type tile<8xf32>"),
    ("mmaf", "%x = mmaf %h, %h, %hacc : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>",
     "%x = mmaf %sq, %h, %acc : tile<8x4xf32>, tile<16x16xf16>, tile<8x8xf32>", "does not match"),
    ("mmai", "%x = mmai %c, %cr, %cacc signed unsigned : tile<16x32xi8>, tile<32x16xi8>, tile<16x16xi32>",
     "%x = mmai %cacc, %cacc, %cacc signed signed : tile<16x16xi32>, tile<16x16xi32>, tile<16x16xi32>", "must be of i8"),
    ("mmaf_scaled",
     "%x = mmaf_scaled %e, %er, %hacc, %sc, %scr : tile<16x32xf8E4M3FN>, tile<32x16xf8E4M3FN>, tile<16x16xf32>, "
     "tile<16x1xf8E8M0FNU>, tile<1x16xf8E8M0FNU>",
     "%x = mmaf_scaled %h, %h, %hacc, %sc, %scr : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>, "
     "tile<16x1xf8E8M0FNU>, tile<1x16xf8E8M0FNU>", "cannot be scaled"),
    ("reduce", f"%x = reduce %f dim=0 identities=[0.0 : f32] : {F} -> tile<f32> (%u: tile<f32>, %t: tile<f32>) "
     "{ %z = addf %u, %t : tile<f32> yield %z : tile<f32> }",
     f"%x = reduce %f dim=2 identities=[0.0 : f32] : {F} -> tile<f32> (%u: tile<f32>, %t: tile<f32>) "
     "{ yield %u : tile<f32> }", "dim 2 does not exist"),
    ("scan", f"%x = scan %i dim=0 reverse=true identities=[0 : i32] : {N} -> {N} (%u: tile<i32>, %t: tile<i32>) "
     "{ %z = addi %u, %t : tile<i32> yield %z : tile<i32> }",
     f"%x = scan %i dim=0 reverse=true identities=[0.0 : f32] : {N} -> {N} (%u: tile<i32>, %t: tile<i32>) "
     "{ yield %u : tile<i32> }", "is not of the element type"),
    ("for", "%x = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%a = %s) -> (tile<f32>) "
     "{ %z = addf %a, %s : tile<f32> continue %z : tile<f32> }",
     "%x = for %k in (%s to %s, step %s) : tile<f32> iter_values(%a = %s) -> (tile<f32>) { continue %a : tile<f32> }",
     "must be a scalar tile of integers"),
    ("loop", "%x = loop iter_values(%a = %zero) : tile<i32> -> tile<i32> { %y = cmpi equal %a, %n, signed : tile<i32> -> tile<i1> "
     "if %y { break %a : tile<i32> } %z = addi %a, %one : tile<i32> continue %z : tile<i32> }",
     "%x = loop iter_values(%a = %zero) : tile<i32> -> tile<i32> { yield %a : tile<i32> }", "cannot end a region"),
    ("if", "%x = if %b -> (tile<i32>) { yield %n : tile<i32> } else { yield %one : tile<i32> }",
     "%x = if %b -> (tile<i32>) { yield %n : tile<i32> }", "must have an else region"),
    ("yield", "if %b { yield }", "yield", "must be the last operation"),
    ("continue", "for %k in (%zero to %n, step %one) : tile<i32> { continue }", "continue", "must be the last operation"),
    ("break", "loop { break }", "break", "must be the last operation"),
    ("return", "if %b { return }", "if %b { return %n : tile<i32> }", "an entry returns nothing"),
    ("entry", "", "%x = entry", "is not allowed inside a body"),
    ("module", "", "%x = module", "is not allowed inside a body"),
    ("global", "", "%x = global", "is not allowed inside a body"),
]  # fmt: skip

SINCE = {
    "atan2": (13, 2), "pack": (13, 3), "unpack": (13, 3), "alloca": (13, 3), "mmaf_scaled": (13, 3),
    "make_gather_scatter_view": (13, 3), "make_strided_view": (13, 3), "atomic_red_view_tko": (13, 3),
    "insert": (13, 4), "gdc_launch_dependents_tko": (13, 4), "gdc_wait_tko": (13, 4), "fpowi": (13, 4),
    "memory_fence_alias_tko": (13, 4), "multimem_load_reduce_view_tko": (13, 5), "multimem_reduce_view_tko": (13, 5),
    "multimem_store_view_tko": (13, 5), "preview_call": (13, 5),
}  # fmt: skip
"""Versions of the table of operations; 13.1 where none is given."""


def program(lines):
    """An entry that uses `lines` after the setup, and the global that one of them names."""
    module = "global @data <f32: [1.0, 2.0]> : tile<2xf32>\n"
    return f"{module}entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<i32>>) {{{SETUP}  {lines}\n  return\n}}\n"
