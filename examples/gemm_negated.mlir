// GEMM whose A operand is scaled by a negated broadcast: D = (A * -s[None, :]) * B^T, f16 inputs, f32 D.
//
// A is m x k, B is n x k, D is m x n, all row-major; s holds one scale for each k. As a frontend would leave it, the
// negation sits inside the loop, on the whole 128 x 64 operand: -(A * s[None, :]). Sinking it through the product and
// the broadcast leaves 64 negations.
// Grid: (ceil(m / 128), ceil(n / 128), 1). Promises as in gemm.mlir.
cuda_tile.module @gemm_negated {
  entry @gemm_negated(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %s: tile<ptr<f16>>, %d: tile<ptr<f32>>,
                      %m: tile<i32>, %n: tile<i32>, %k: tile<i32>,
                      %lda: tile<i32>, %ldb: tile<i32>, %ldd: tile<i32>) {
    %start = make_token : token
    %a_base = assume div_by<16>, %a : tile<ptr<f16>>
    %b_base = assume div_by<16>, %b : tile<ptr<f16>>
    %s_base = assume div_by<16>, %s : tile<ptr<f16>>
    %d_base = assume div_by<16>, %d : tile<ptr<f32>>
    %rows = assume bounded<0, ?>, %m : tile<i32>
    %n_bounded = assume bounded<0, ?>, %n : tile<i32>
    %k_bounded = assume bounded<0, ?>, %k : tile<i32>
    %cols = assume div_by<8>, %n_bounded : tile<i32>
    %depth = assume div_by<8>, %k_bounded : tile<i32>
    %lda_bounded = assume bounded<0, ?>, %lda : tile<i32>
    %ldb_bounded = assume bounded<0, ?>, %ldb : tile<i32>
    %ldd_bounded = assume bounded<0, ?>, %ldd : tile<i32>
    %a_pitch = assume div_by<8>, %lda_bounded : tile<i32>
    %b_pitch = assume div_by<8>, %ldb_bounded : tile<i32>
    %d_pitch = assume div_by<4>, %ldd_bounded : tile<i32>

    %a_view = make_tensor_view %a_base, shape = [%rows, %depth], strides = [%a_pitch, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %b_view = make_tensor_view %b_base, shape = [%cols, %depth], strides = [%b_pitch, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %s_view = make_tensor_view %s_base, shape = [%depth], strides = [1] : tile<i32> -> tensor_view<?xf16, strides=[1]>
    %d_view = make_tensor_view %d_base, shape = [%rows, %cols], strides = [%d_pitch, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %a_tiles = make_partition_view %a_view : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
    %b_tiles = make_partition_view %b_view : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
    %s_tiles = make_partition_view %s_view : partition_view<tile=(64), padding_value = zero, tensor_view<?xf16, strides=[1]>>
    %d_tiles = make_partition_view %d_view : partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>

    %bm, %bn, %bz = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %acc_zero = constant <f32: 0.000000e+00> : tile<128x128xf32>
    %space:2 = get_index_space_shape %a_tiles : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>> -> tile<i32>

    %product = for %kt in (%zero to %space#1, step %one) : tile<i32> iter_values(%acc = %acc_zero) -> (tile<128x128xf32>) {
      %a_tile, %a_token = load_view_tko weak %a_tiles[%bm, %kt] token = %start : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<128x64xf16>, token
      %b_tile, %b_token = load_view_tko weak %b_tiles[%bn, %kt] token = %start : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<128x64xf16>, token
      %scale, %s_token = load_view_tko weak %s_tiles[%kt] token = %start : partition_view<tile=(64), padding_value = zero, tensor_view<?xf16, strides=[1]>>, tile<i32> -> tile<64xf16>, token
      %scale_row = reshape %scale : tile<64xf16> -> tile<1x64xf16>
      %scale_all = broadcast %scale_row : tile<1x64xf16> -> tile<128x64xf16>
      %a_scaled = mulf %a_tile, %scale_all : tile<128x64xf16>
      %a_negated = negf %a_scaled : tile<128x64xf16>
      %b_transposed = permute %b_tile [1, 0] : tile<128x64xf16> -> tile<64x128xf16>
      %acc_next = mmaf %a_negated, %b_transposed, %acc : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>
      continue %acc_next : tile<128x128xf32>
    }

    %done = store_view_tko weak %product, %d_tiles[%bm, %bn] token = %start : tile<128x128xf32>, partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
    return
  }
}
