// Block-scaled GEMM of MXFP8: D = (A x scales) (B x scales)^T, f8E4M3FN inputs, a scale of f8E8M0FNU for each 32 of a row,
// f32 accumulation and D; any m and n, k a multiple of 16.
//
// A is m x k, B is n x k, D is m x n, all row-major; lda, ldb, ldd are their row pitches in elements. Scales of A are
// m x blocks, those of B n x blocks, blocks = ceil(k / 32), in rows of lds bytes.
// Each tile block makes one 128 x 128 tile of D, walking k in steps of 128: four scales of a row a step. Tiles that
// overhang an array read zeros and store nothing outside it. Grid: (ceil(m / 128), ceil(n / 128), 1).
// Promised: 16-byte aligned bases, pitches of A and B that are multiples of 16, of scales and D multiples of 4.
cuda_tile.module @gemm_mxfp8 {
  entry @gemm_mxfp8(%a: tile<ptr<f8E4M3FN>>, %b: tile<ptr<f8E4M3FN>>,
                    %a_scales: tile<ptr<f8E8M0FNU>>, %b_scales: tile<ptr<f8E8M0FNU>>, %d: tile<ptr<f32>>,
                    %m: tile<i32>, %n: tile<i32>, %k: tile<i32>, %blocks: tile<i32>,
                    %lda: tile<i32>, %ldb: tile<i32>, %lds: tile<i32>, %ldd: tile<i32>) {
    %start = make_token : token
    %a_base = assume div_by<16>, %a : tile<ptr<f8E4M3FN>>
    %b_base = assume div_by<16>, %b : tile<ptr<f8E4M3FN>>
    %as_base = assume div_by<16>, %a_scales : tile<ptr<f8E8M0FNU>>
    %bs_base = assume div_by<16>, %b_scales : tile<ptr<f8E8M0FNU>>
    %d_base = assume div_by<16>, %d : tile<ptr<f32>>
    %rows = assume bounded<0, ?>, %m : tile<i32>
    %cols = assume bounded<0, ?>, %n : tile<i32>
    %k_bounded = assume bounded<0, ?>, %k : tile<i32>
    %depth = assume div_by<16>, %k_bounded : tile<i32>
    %scales = assume bounded<0, ?>, %blocks : tile<i32>
    %lda_bounded = assume bounded<0, ?>, %lda : tile<i32>
    %ldb_bounded = assume bounded<0, ?>, %ldb : tile<i32>
    %lds_bounded = assume bounded<0, ?>, %lds : tile<i32>
    %ldd_bounded = assume bounded<0, ?>, %ldd : tile<i32>
    %a_pitch = assume div_by<16>, %lda_bounded : tile<i32>
    %b_pitch = assume div_by<16>, %ldb_bounded : tile<i32>
    %s_pitch = assume div_by<4>, %lds_bounded : tile<i32>
    %d_pitch = assume div_by<4>, %ldd_bounded : tile<i32>

    %a_view = make_tensor_view %a_base, shape = [%rows, %depth], strides = [%a_pitch, 1] : tile<i32> -> tensor_view<?x?xf8E4M3FN, strides=[?,1]>
    %b_view = make_tensor_view %b_base, shape = [%cols, %depth], strides = [%b_pitch, 1] : tile<i32> -> tensor_view<?x?xf8E4M3FN, strides=[?,1]>
    %as_view = make_tensor_view %as_base, shape = [%rows, %scales], strides = [%s_pitch, 1] : tile<i32> -> tensor_view<?x?xf8E8M0FNU, strides=[?,1]>
    %bs_view = make_tensor_view %bs_base, shape = [%cols, %scales], strides = [%s_pitch, 1] : tile<i32> -> tensor_view<?x?xf8E8M0FNU, strides=[?,1]>
    %d_view = make_tensor_view %d_base, shape = [%rows, %cols], strides = [%d_pitch, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %a_tiles = make_partition_view %a_view : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xf8E4M3FN, strides=[?,1]>>
    %b_tiles = make_partition_view %b_view : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xf8E4M3FN, strides=[?,1]>>
    %as_tiles = make_partition_view %as_view : partition_view<tile=(128x4), padding_value = zero, tensor_view<?x?xf8E8M0FNU, strides=[?,1]>>
    %bs_tiles = make_partition_view %bs_view : partition_view<tile=(128x4), padding_value = zero, tensor_view<?x?xf8E8M0FNU, strides=[?,1]>>
    %d_tiles = make_partition_view %d_view : partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>

    %bm, %bn, %bz = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %acc_zero = constant <f32: 0.000000e+00> : tile<128x128xf32>
    %space:2 = get_index_space_shape %a_tiles : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xf8E4M3FN, strides=[?,1]>> -> tile<i32>

    %product = for %kt in (%zero to %space#1, step %one) : tile<i32> iter_values(%acc = %acc_zero) -> (tile<128x128xf32>) {
      %a_tile, %a_token = load_view_tko weak %a_tiles[%bm, %kt] token = %start : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xf8E4M3FN, strides=[?,1]>>, tile<i32> -> tile<128x128xf8E4M3FN>, token
      %b_tile, %b_token = load_view_tko weak %b_tiles[%bn, %kt] token = %start : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xf8E4M3FN, strides=[?,1]>>, tile<i32> -> tile<128x128xf8E4M3FN>, token
      %as_tile, %as_token = load_view_tko weak %as_tiles[%bm, %kt] token = %start : partition_view<tile=(128x4), padding_value = zero, tensor_view<?x?xf8E8M0FNU, strides=[?,1]>>, tile<i32> -> tile<128x4xf8E8M0FNU>, token
      %bs_tile, %bs_token = load_view_tko weak %bs_tiles[%bn, %kt] token = %start : partition_view<tile=(128x4), padding_value = zero, tensor_view<?x?xf8E8M0FNU, strides=[?,1]>>, tile<i32> -> tile<128x4xf8E8M0FNU>, token
      %b_transposed = permute %b_tile [1, 0] : tile<128x128xf8E4M3FN> -> tile<128x128xf8E4M3FN>
      %bs_transposed = permute %bs_tile [1, 0] : tile<128x4xf8E8M0FNU> -> tile<4x128xf8E8M0FNU>
      %acc_next = mmaf_scaled %a_tile, %b_transposed, %acc, %as_tile, %bs_transposed : tile<128x128xf8E4M3FN>, tile<128x128xf8E4M3FN>, tile<128x128xf32>, tile<128x4xf8E8M0FNU>, tile<4x128xf8E8M0FNU>
      continue %acc_next : tile<128x128xf32>
    }
    %done = store_view_tko weak %product, %d_tiles[%bm, %bn] token = %start : tile<128x128xf32>, partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
    return
  }
}
