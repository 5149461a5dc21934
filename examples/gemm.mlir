// Fused GEMM: D = A * B^T + C, f16 inputs, f32 accumulation, f32 C and D; any m, and n and k multiples of 8.
//
// A is m x k, B is n x k, C and D are m x n, all row-major; lda, ldb, ldc, ldd are their row pitches in elements.
// Each tile block makes one 128 x 128 tile of D, walking k in steps of 64. Tiles that overhang an array read zeros
// and store nothing outside it. Grid: (ceil(m / 128), ceil(n / 128), 1).
// Promised: 16-byte aligned bases, row pitches that keep every row 16-byte aligned (8 halves, 4 singles), and n and k
// multiples of 8, so that no 16-byte access straddles an array's edge.
cuda_tile.module @gemm {
  entry @gemm(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f32>>, %d: tile<ptr<f32>>,
              %m: tile<i32>, %n: tile<i32>, %k: tile<i32>,
              %lda: tile<i32>, %ldb: tile<i32>, %ldc: tile<i32>, %ldd: tile<i32>) {
    %start = make_token : token
    %a_base = assume div_by<16>, %a : tile<ptr<f16>>
    %b_base = assume div_by<16>, %b : tile<ptr<f16>>
    %c_base = assume div_by<16>, %c : tile<ptr<f32>>
    %d_base = assume div_by<16>, %d : tile<ptr<f32>>
    %rows = assume bounded<0, ?>, %m : tile<i32>
    %n_bounded = assume bounded<0, ?>, %n : tile<i32>
    %k_bounded = assume bounded<0, ?>, %k : tile<i32>
    %cols = assume div_by<8>, %n_bounded : tile<i32>
    %depth = assume div_by<8>, %k_bounded : tile<i32>
    %lda_bounded = assume bounded<0, ?>, %lda : tile<i32>
    %ldb_bounded = assume bounded<0, ?>, %ldb : tile<i32>
    %ldc_bounded = assume bounded<0, ?>, %ldc : tile<i32>
    %ldd_bounded = assume bounded<0, ?>, %ldd : tile<i32>
    %a_pitch = assume div_by<8>, %lda_bounded : tile<i32>
    %b_pitch = assume div_by<8>, %ldb_bounded : tile<i32>
    %c_pitch = assume div_by<4>, %ldc_bounded : tile<i32>
    %d_pitch = assume div_by<4>, %ldd_bounded : tile<i32>

    %a_view = make_tensor_view %a_base, shape = [%rows, %depth], strides = [%a_pitch, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %b_view = make_tensor_view %b_base, shape = [%cols, %depth], strides = [%b_pitch, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %c_view = make_tensor_view %c_base, shape = [%rows, %cols], strides = [%c_pitch, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %d_view = make_tensor_view %d_base, shape = [%rows, %cols], strides = [%d_pitch, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %a_tiles = make_partition_view %a_view : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
    %b_tiles = make_partition_view %b_view : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
    %c_tiles = make_partition_view %c_view : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
    %d_tiles = make_partition_view %d_view : partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>

    %bm, %bn, %bz = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %acc_zero = constant <f32: 0.000000e+00> : tile<128x128xf32>
    %space:2 = get_index_space_shape %a_tiles : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>> -> tile<i32>

    %product = for %kt in (%zero to %space#1, step %one) : tile<i32> iter_values(%acc = %acc_zero) -> (tile<128x128xf32>) {
      %a_tile, %a_token = load_view_tko weak %a_tiles[%bm, %kt] token = %start : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<128x64xf16>, token
      %b_tile, %b_token = load_view_tko weak %b_tiles[%bn, %kt] token = %start : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<128x64xf16>, token
      %b_transposed = permute %b_tile [1, 0] : tile<128x64xf16> -> tile<64x128xf16>
      %acc_next = mmaf %a_tile, %b_transposed, %acc : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>
      continue %acc_next : tile<128x128xf32>
    }

    // C and D do not overlap: the store needs no token of C's load.
    %c_tile, %c_token = load_view_tko weak %c_tiles[%bm, %bn] token = %start : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<128x128xf32>, token
    %sum = addf %product, %c_tile : tile<128x128xf32>
    %done = store_view_tko weak %sum, %d_tiles[%bm, %bn] token = %start : tile<128x128xf32>, partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
    return
  }
}
