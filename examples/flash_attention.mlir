// Flash attention, forward: out = softmax(scale * Q K^T) V for each head; f16 inputs and output, sums in f32.
//
// q and out are heads x m x 64, k and v are heads x n x 64, row-major, heads one after the other; ldq, ldk, ldv, ldo
// are the row pitches in elements. Each tile block owns 128 queries of one head and walks the keys in steps of 64. The
// scores exist only in registers: a running maximum and a running sum (in base 2) say how to rescale what was summed
// before. Keys past the end of a head get the score minus infinity. Grid: (ceil(m / 128), heads, 1).
// Promised: n >= 1, scale > 0, 16-byte aligned bases, and row pitches that keep every row 16-byte aligned (8 halves).
cuda_tile.module @flash_attention {
  entry @flash_attention(%q: tile<ptr<f16>>, %k: tile<ptr<f16>>, %v: tile<ptr<f16>>, %out: tile<ptr<f16>>,
                         %heads: tile<i32>, %m: tile<i32>, %n: tile<i32>,
                         %ldq: tile<i32>, %ldk: tile<i32>, %ldv: tile<i32>, %ldo: tile<i32>, %scale: tile<f32>) {
    %start = make_token : token
    %q_base = assume div_by<16>, %q : tile<ptr<f16>>
    %k_base = assume div_by<16>, %k : tile<ptr<f16>>
    %v_base = assume div_by<16>, %v : tile<ptr<f16>>
    %out_base = assume div_by<16>, %out : tile<ptr<f16>>
    %head_count = assume bounded<0, ?>, %heads : tile<i32>
    %queries = assume bounded<0, ?>, %m : tile<i32>
    %keys = assume bounded<1, ?>, %n : tile<i32>
    %ldq_bounded = assume bounded<0, ?>, %ldq : tile<i32>
    %ldk_bounded = assume bounded<0, ?>, %ldk : tile<i32>
    %ldv_bounded = assume bounded<0, ?>, %ldv : tile<i32>
    %ldo_bounded = assume bounded<0, ?>, %ldo : tile<i32>
    %q_pitch = assume div_by<8>, %ldq_bounded : tile<i32>
    %k_pitch = assume div_by<8>, %ldk_bounded : tile<i32>
    %v_pitch = assume div_by<8>, %ldv_bounded : tile<i32>
    %o_pitch = assume div_by<8>, %ldo_bounded : tile<i32>
    %q_head = muli %queries, %q_pitch overflow<no_signed_wrap> : tile<i32>
    %k_head = muli %keys, %k_pitch overflow<no_signed_wrap> : tile<i32>
    %v_head = muli %keys, %v_pitch overflow<no_signed_wrap> : tile<i32>
    %o_head = muli %queries, %o_pitch overflow<no_signed_wrap> : tile<i32>

    %q_view = make_tensor_view %q_base, shape = [%head_count, %queries, 64], strides = [%q_head, %q_pitch, 1] : tile<i32> -> tensor_view<?x?x64xf16, strides=[?,?,1]>
    %k_view = make_tensor_view %k_base, shape = [%head_count, %keys, 64], strides = [%k_head, %k_pitch, 1] : tile<i32> -> tensor_view<?x?x64xf16, strides=[?,?,1]>
    %v_view = make_tensor_view %v_base, shape = [%head_count, %keys, 64], strides = [%v_head, %v_pitch, 1] : tile<i32> -> tensor_view<?x?x64xf16, strides=[?,?,1]>
    %out_view = make_tensor_view %out_base, shape = [%head_count, %queries, 64], strides = [%o_head, %o_pitch, 1] : tile<i32> -> tensor_view<?x?x64xf16, strides=[?,?,1]>
    %q_tiles = make_partition_view %q_view : partition_view<tile=(1x128x64), padding_value = zero, tensor_view<?x?x64xf16, strides=[?,?,1]>>
    %k_tiles = make_partition_view %k_view : partition_view<tile=(1x64x64), padding_value = zero, tensor_view<?x?x64xf16, strides=[?,?,1]>>
    %v_tiles = make_partition_view %v_view : partition_view<tile=(1x64x64), padding_value = zero, tensor_view<?x?x64xf16, strides=[?,?,1]>>
    %out_tiles = make_partition_view %out_view : partition_view<tile=(1x128x64), tensor_view<?x?x64xf16, strides=[?,?,1]>>

    %block, %head, %block_z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %step = constant <i32: 64> : tile<i32>
    %unscored = constant <f32: 0.000000e+00> : tile<128x64xf32>
    %minus_infinity = constant <f32: 0xFF800000> : tile<128x64xf32>
    %no_maximum = constant <f32: 0xFF800000> : tile<128x1xf32>
    %no_sum = constant <f32: 0.000000e+00> : tile<128x1xf32>
    %ones = constant <f32: 1.000000e+00> : tile<128x1xf32>
    %log2_e = constant <f32: 1.44269502> : tile<f32>
    %scale_2 = mulf %scale, %log2_e : tile<f32>
    %scale_1x1 = reshape %scale_2 : tile<f32> -> tile<1x1xf32>
    %scale_column = broadcast %scale_1x1 : tile<1x1xf32> -> tile<128x1xf32>
    %scale_all = broadcast %scale_1x1 : tile<1x1xf32> -> tile<128x64xf32>
    %lane = iota : tile<64xi32>
    %keys_1 = reshape %keys : tile<i32> -> tile<1xi32>
    %keys_all = broadcast %keys_1 : tile<1xi32> -> tile<64xi32>
    %space:3 = get_index_space_shape %k_tiles : partition_view<tile=(1x64x64), padding_value = zero, tensor_view<?x?x64xf16, strides=[?,?,1]>> -> tile<i32>

    %query_3d, %query_token = load_view_tko weak %q_tiles[%head, %block, %zero] token = %start : partition_view<tile=(1x128x64), padding_value = zero, tensor_view<?x?x64xf16, strides=[?,?,1]>>, tile<i32> -> tile<1x128x64xf16>, token
    %query = reshape %query_3d : tile<1x128x64xf16> -> tile<128x64xf16>

    %last, %sum, %weighted = for %j in (%zero to %space#1, step %one) : tile<i32> iter_values(%highest = %no_maximum, %total = %no_sum, %acc = %unscored) -> (tile<128x1xf32>, tile<128x1xf32>, tile<128x64xf32>) {
      %key_3d, %key_token = load_view_tko weak %k_tiles[%head, %j, %zero] token = %start : partition_view<tile=(1x64x64), padding_value = zero, tensor_view<?x?x64xf16, strides=[?,?,1]>>, tile<i32> -> tile<1x64x64xf16>, token
      %key = reshape %key_3d : tile<1x64x64xf16> -> tile<64x64xf16>
      %key_transposed = permute %key [1, 0] : tile<64x64xf16> -> tile<64x64xf16>
      %product = mmaf %query, %key_transposed, %unscored : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>

      %first = muli %j, %step : tile<i32>
      %first_1 = reshape %first : tile<i32> -> tile<1xi32>
      %first_all = broadcast %first_1 : tile<1xi32> -> tile<64xi32>
      %index = addi %first_all, %lane : tile<64xi32>
      %inside = cmpi less_than %index, %keys_all, signed : tile<64xi32> -> tile<64xi1>
      %inside_row = reshape %inside : tile<64xi1> -> tile<1x64xi1>
      %inside_all = broadcast %inside_row : tile<1x64xi1> -> tile<128x64xi1>
      %score = select %inside_all, %product, %minus_infinity : tile<128x64xi1>, tile<128x64xf32>

      %max = reduce %score dim=1 identities=[0xFF800000 : f32] : tile<128x64xf32> -> tile<128xf32>
      (%max_lhs: tile<f32>, %max_rhs: tile<f32>) {
        %greater = maxf %max_lhs, %max_rhs : tile<f32>
        yield %greater : tile<f32>
      }
      %max_column = reshape %max : tile<128xf32> -> tile<128x1xf32>
      %max_scaled = mulf %max_column, %scale_column : tile<128x1xf32>
      %raised = maxf %highest, %max_scaled : tile<128x1xf32>
      %raised_negative = negf %raised : tile<128x1xf32>
      %raised_all = broadcast %raised_negative : tile<128x1xf32> -> tile<128x64xf32>
      %exponent = fma %score, %scale_all, %raised_all : tile<128x64xf32>
      %power = exp2 %exponent : tile<128x64xf32>
      %drop = subf %highest, %raised : tile<128x1xf32>
      %fade = exp2 %drop : tile<128x1xf32>

      %added = reduce %power dim=1 identities=[0.000000e+00 : f32] : tile<128x64xf32> -> tile<128xf32>
      (%sum_lhs: tile<f32>, %sum_rhs: tile<f32>) {
        %sum_next = addf %sum_lhs, %sum_rhs : tile<f32>
        yield %sum_next : tile<f32>
      }
      %added_column = reshape %added : tile<128xf32> -> tile<128x1xf32>
      %total_next = fma %total, %fade, %added_column : tile<128x1xf32>

      %value_3d, %value_token = load_view_tko weak %v_tiles[%head, %j, %zero] token = %start : partition_view<tile=(1x64x64), padding_value = zero, tensor_view<?x?x64xf16, strides=[?,?,1]>>, tile<i32> -> tile<1x64x64xf16>, token
      %value = reshape %value_3d : tile<1x64x64xf16> -> tile<64x64xf16>
      %weight = ftof %power : tile<128x64xf32> -> tile<128x64xf16>
      %fade_all = broadcast %fade : tile<128x1xf32> -> tile<128x64xf32>
      %acc_faded = mulf %acc, %fade_all : tile<128x64xf32>
      %acc_next = mmaf %weight, %value, %acc_faded : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
      continue %raised, %total_next, %acc_next : tile<128x1xf32>, tile<128x1xf32>, tile<128x64xf32>
    }

    // One division a query instead of one an element.
    %inverse = divf %ones, %sum : tile<128x1xf32>
    %inverse_all = broadcast %inverse : tile<128x1xf32> -> tile<128x64xf32>
    %result = mulf %weighted, %inverse_all : tile<128x64xf32>
    %result_half = ftof %result : tile<128x64xf32> -> tile<128x64xf16>
    %result_3d = reshape %result_half : tile<128x64xf16> -> tile<1x128x64xf16>
    %done = store_view_tko weak %result_3d, %out_tiles[%head, %block, %zero] token = %start : tile<1x128x64xf16>, partition_view<tile=(1x128x64), tensor_view<?x?x64xf16, strides=[?,?,1]>>, tile<i32> -> token
    return
  }
}
