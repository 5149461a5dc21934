"""Facts about addresses, masks and indices, as the choice of access widths and the removal of masks need them."""

ADDRESS = """%base = assume div_by<{align}>, %p : tile<ptr<f32>>
    %bx, %by, %bz = get_tile_block_id : tile<i32>
    %width = constant <i32: 128> : tile<i32>
    %first = muli %bx, %width : tile<i32>
    %first1 = reshape %first : tile<i32> -> tile<1xi32>
    %all = broadcast %first1 : tile<1xi32> -> tile<128xi32>
    %lane = iota : tile<128xi32>
    %index = addi %all, %lane : tile<128xi32>
    %base1 = reshape %base : tile<ptr<f32>> -> tile<1xptr<f32>>
    %bases = broadcast %base1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
    %address = offset %bases, %index : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
    %length = assume div_by<16>, %n : tile<i32>
    %length1 = reshape %length : tile<i32> -> tile<1xi32>
    %lengths = broadcast %length1 : tile<1xi32> -> tile<128xi32>
    %mask = cmpi less_than %index, %lengths, signed : tile<128xi32> -> tile<128xi1>
    %any1 = reshape %m : tile<i32> -> tile<1xi32>
    %anys = broadcast %any1 : tile<1xi32> -> tile<128xi32>
    %ragged = cmpi less_than %index, %anys, signed : tile<128xi32> -> tile<128xi1>
    %most = cmpi less_than_or_equal %index, %lengths, signed : tile<128xi32> -> tile<128xi1>"""
PARAMETERS = "%p: tile<ptr<f32>>, %n: tile<i32>, %m: tile<i32>"


def test_address_of_a_row(kernel):
    k = kernel(PARAMETERS, ADDRESS.format(align=16))
    assert k.fact("divisor", "first") == 128
    assert k.fact("constancy", "all", 0) == 128
    assert k.fact("contiguity", "index", 0) == 128
    assert k.fact("alignment", "index", 0) == 128
    assert k.fact("contiguity", "address", 0) == 128
    assert k.fact("alignment", "address", 0) == 16  # bytes: the base is the weakest
    assert k.fact("low", "lane") == 0
    assert k.fact("high", "lane") == 127


def test_alignment_follows_the_base(kernel):
    assert kernel(PARAMETERS, ADDRESS.format(align=4)).fact("alignment", "address", 0) == 4
    assert kernel(PARAMETERS, ADDRESS.format(align=2048)).fact("alignment", "address", 0) == 512  # 128 elements


def test_mask_is_constant_in_groups_only_where_the_length_is_divisible(kernel):
    k = kernel(PARAMETERS, ADDRESS.format(align=16))
    assert k.fact("constancy", "mask", 0) == 16
    assert k.fact("constancy", "ragged", 0) == 1
    assert k.fact("constancy", "most", 0) == 1  # index <= n changes one element late


def test_rows_of_a_matrix(kernel):
    k = kernel(
        "%p: tile<ptr<f16>>, %ld: tile<i32>",
        """%base = assume div_by<16>, %p : tile<ptr<f16>>
        %pitch = assume div_by<8>, %ld : tile<i32>
        %row = iota : tile<16xi32>
        %row1 = reshape %row : tile<16xi32> -> tile<16x1xi32>
        %rows = broadcast %row1 : tile<16x1xi32> -> tile<16x32xi32>
        %pitch1 = reshape %pitch : tile<i32> -> tile<1x1xi32>
        %pitches = broadcast %pitch1 : tile<1x1xi32> -> tile<16x32xi32>
        %col = iota : tile<32xi32>
        %col1 = reshape %col : tile<32xi32> -> tile<1x32xi32>
        %cols = broadcast %col1 : tile<1x32xi32> -> tile<16x32xi32>
        %start = muli %rows, %pitches : tile<16x32xi32>
        %index = addi %start, %cols : tile<16x32xi32>
        %base1 = reshape %base : tile<ptr<f16>> -> tile<1x1xptr<f16>>
        %bases = broadcast %base1 : tile<1x1xptr<f16>> -> tile<16x32xptr<f16>>
        %address = offset %bases, %index : tile<16x32xptr<f16>>, tile<16x32xi32> -> tile<16x32xptr<f16>>
        %turned = permute %address [1, 0] : tile<16x32xptr<f16>> -> tile<32x16xptr<f16>>
        %wide = exti %index signed : tile<16x32xi32> -> tile<16x32xi64>""",
    )
    assert k.fact("contiguity", "rows", 0) == 16
    assert k.fact("constancy", "rows", 1) == 32
    assert k.fact("contiguity", "index", 1) == 32
    assert k.fact("alignment", "index", 1) == 8
    assert k.fact("contiguity", "index", 0) == 1
    assert k.fact("contiguity", "address", 1) == 8  # beyond 8 the 32-bit index could wrap inside a group
    assert k.fact("alignment", "address", 1) == 16
    assert k.fact("contiguity", "turned", 0) == 8
    assert k.fact("alignment", "turned", 0) == 16
    assert k.fact("contiguity", "wide", 1) == 8


def test_group_with_proven_range_survives_extension(kernel):
    k = kernel(
        "%x: tile<i32>, %y: tile<i32>",
        """%b = assume bounded<0, 1000>, %x : tile<i32>
        %b1 = reshape %b : tile<i32> -> tile<1xi32>
        %bs = broadcast %b1 : tile<1xi32> -> tile<64xi32>
        %i = iota : tile<64xi32>
        %s = addi %bs, %i : tile<64xi32>
        %w = exti %s signed : tile<64xi32> -> tile<64xi64>
        %u1 = reshape %y : tile<i32> -> tile<1xi32>
        %us = broadcast %u1 : tile<1xi32> -> tile<64xi32>
        %t = addi %us, %i : tile<64xi32>
        %v = exti %t signed : tile<64xi32> -> tile<64xi64>""",
    )
    assert (k.fact("low", "w"), k.fact("high", "w")) == (0, 1063)
    assert k.fact("contiguity", "w", 0) == 64
    assert k.fact("contiguity", "v", 0) == 1  # y + 63 may wrap


def test_assumed_groups(kernel):
    k = kernel(
        "%p: tile<ptr<f32>>, %n: tile<i32>",
        """%i = iota : tile<64xi32>
        %n1 = reshape %n : tile<i32> -> tile<1xi32>
        %ns = broadcast %n1 : tile<1xi32> -> tile<64xi32>
        %s = muli %i, %ns : tile<64xi32>
        %a = assume div_by<8, every 4 along 0>, %s : tile<64xi32>
        %b = assume same_elements<[2]>, %ns : tile<64xi32>""",
    )
    assert k.fact("contiguity", "a", 0) == 4
    assert k.fact("alignment", "a", 0) == 8
    assert k.same("a", "s")
    assert k.fact("constancy", "b", 0) == 64


def test_sizes_of_views_are_not_negative(kernel):
    view = "partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>"
    k = kernel(
        "%p: tile<ptr<f32>>, %n: tile<i32>",
        f"""%v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
        %t = make_partition_view %v : {view}
        %s = get_index_space_shape %t : {view} -> tile<i32>
        %z = get_tensor_shape %v : tensor_view<?xf32, strides=[1]> -> tile<i32>
        %gx, %gy, %gz = get_num_tile_blocks : tile<i32>""",
    )
    assert k.fact("low", "s") == 0
    assert k.fact("low", "z") == 0
    assert k.fact("low", "gx") == 1
    assert k.fact("low", "n") == -(2**31)


LOOP = """%zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %eight = constant <i32: 8> : tile<i32>
    %r = for %i in (%zero to {}, step %one) : tile<i32> iter_values(%c = %zero) -> (tile<i32>) {{
      %a = assume bounded<5, 9>, %m : tile<i32>
      %d = addi %c, %a : tile<i32>
      %e = assume bounded<0, 99>, %d : tile<i32>
      continue %e : tile<i32>
    }}
    %o = addi %m, %one : tile<i32>"""


def test_promise_in_a_loop_that_may_not_run_says_nothing(kernel):
    k = kernel("%n: tile<i32>, %m: tile<i32>", LOOP.format("%n"))
    assert k.fact("low", "m") == k.fact("low", "d") == -(2**31)


def test_promise_in_a_loop_that_runs_holds(kernel):
    k = kernel("%n: tile<i32>, %m: tile<i32>", LOOP.format("%eight"))
    assert k.same("a", "m")
    assert (k.fact("low", "m"), k.fact("high", "o")) == (5, 10)
    assert k.same("d", "e")
    assert k.fact("high", "r") == 99
