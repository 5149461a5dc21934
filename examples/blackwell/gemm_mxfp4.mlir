// Block-scaled GEMM of MXFP4: D = (A x scales) (B x scales)^T, f4E2M1FN inputs, a scale of f8E8M0FNU for each 32 of a row,
// f32 accumulation and D; any m and n, k a multiple of 32.
//
// A is m x k, B is n x k, D is m x n, all row-major. Of A and B two neighbours along k share a byte, the first one in its
// low half; lda, ldb and ldd are pitches in elements. Scales lie as cuBLAS and CUTLASS have them: blocks of 128 rows and
// four scales, 512 bytes each, in which row r has its four at byte r % 32 * 16 + r / 32 * 4; ceil(m / 128) (ceil(n / 128)
// for B) x k_blocks blocks, k_blocks = ceil(k / 128).
// Each tile block makes one 128 x 128 tile of D, walking k in steps of 256: eight scales of a row a step. Tiles that
// overhang an array read zeros and store nothing outside it. Grid: (ceil(m / 128), ceil(n / 128), 1).
// Promised: 16-byte aligned bases, pitches of A and B that are multiples of 32 elements, of D multiples of 4.
cuda_tile.module @gemm_mxfp4 {
  entry @gemm_mxfp4(%a: tile<ptr<f4E2M1FN>>, %b: tile<ptr<f4E2M1FN>>,
                    %a_scales: tile<ptr<f8E8M0FNU>>, %b_scales: tile<ptr<f8E8M0FNU>>, %d: tile<ptr<f32>>,
                    %m: tile<i32>, %n: tile<i32>, %k: tile<i32>,
                    %m_blocks: tile<i32>, %n_blocks: tile<i32>, %k_blocks: tile<i32>,
                    %lda: tile<i32>, %ldb: tile<i32>, %ldd: tile<i32>) {
    %start = make_token : token
    %a_base = assume div_by<16>, %a : tile<ptr<f4E2M1FN>>
    %b_base = assume div_by<16>, %b : tile<ptr<f4E2M1FN>>
    %as_base = assume div_by<16>, %a_scales : tile<ptr<f8E8M0FNU>>
    %bs_base = assume div_by<16>, %b_scales : tile<ptr<f8E8M0FNU>>
    %d_base = assume div_by<16>, %d : tile<ptr<f32>>
    %rows = assume bounded<0, ?>, %m : tile<i32>
    %cols = assume bounded<0, ?>, %n : tile<i32>
    %k_bounded = assume bounded<0, ?>, %k : tile<i32>
    %depth = assume div_by<32>, %k_bounded : tile<i32>
    %over = assume bounded<0, ?>, %m_blocks : tile<i32>
    %across = assume bounded<0, ?>, %n_blocks : tile<i32>
    %deep = assume bounded<0, ?>, %k_blocks : tile<i32>
    %lda_bounded = assume bounded<0, ?>, %lda : tile<i32>
    %ldb_bounded = assume bounded<0, ?>, %ldb : tile<i32>
    %ldd_bounded = assume bounded<0, ?>, %ldd : tile<i32>
    %a_pitch = assume div_by<32>, %lda_bounded : tile<i32>
    %b_pitch = assume div_by<32>, %ldb_bounded : tile<i32>
    %block = constant <i32: 512> : tile<i32>
    %s_pitch = muli %deep, %block : tile<i32>
    %d_pitch = assume div_by<4>, %ldd_bounded : tile<i32>

    %a_view = make_tensor_view %a_base, shape = [%rows, %depth], strides = [%a_pitch, 1] : tile<i32> -> tensor_view<?x?xf4E2M1FN, strides=[?,1]>
    %b_view = make_tensor_view %b_base, shape = [%cols, %depth], strides = [%b_pitch, 1] : tile<i32> -> tensor_view<?x?xf4E2M1FN, strides=[?,1]>
    %as_view = make_tensor_view %as_base, shape = [%over, %deep, 32, 16], strides = [%s_pitch, 512, 16, 1] : tile<i32> -> tensor_view<?x?x32x16xf8E8M0FNU, strides=[?,512,16,1]>
    %bs_view = make_tensor_view %bs_base, shape = [%across, %deep, 32, 16], strides = [%s_pitch, 512, 16, 1] : tile<i32> -> tensor_view<?x?x32x16xf8E8M0FNU, strides=[?,512,16,1]>
    %d_view = make_tensor_view %d_base, shape = [%rows, %cols], strides = [%d_pitch, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %a_tiles = make_partition_view %a_view : partition_view<tile=(128x256), padding_value = zero, tensor_view<?x?xf4E2M1FN, strides=[?,1]>>
    %b_tiles = make_partition_view %b_view : partition_view<tile=(128x256), padding_value = zero, tensor_view<?x?xf4E2M1FN, strides=[?,1]>>
    %as_tiles = make_partition_view %as_view : partition_view<tile=(1x2x32x16), padding_value = zero, tensor_view<?x?x32x16xf8E8M0FNU, strides=[?,512,16,1]>>
    %bs_tiles = make_partition_view %bs_view : partition_view<tile=(1x2x32x16), padding_value = zero, tensor_view<?x?x32x16xf8E8M0FNU, strides=[?,512,16,1]>>
    %d_tiles = make_partition_view %d_view : partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>

    %bm, %bn, %bz = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %acc_zero = constant <f32: 0.000000e+00> : tile<128x128xf32>
    %space:2 = get_index_space_shape %a_tiles : partition_view<tile=(128x256), padding_value = zero, tensor_view<?x?xf4E2M1FN, strides=[?,1]>> -> tile<i32>

    %product = for %kt in (%zero to %space#1, step %one) : tile<i32> iter_values(%acc = %acc_zero) -> (tile<128x128xf32>) {
      %a_tile, %a_token = load_view_tko weak %a_tiles[%bm, %kt] token = %start : partition_view<tile=(128x256), padding_value = zero, tensor_view<?x?xf4E2M1FN, strides=[?,1]>>, tile<i32> -> tile<128x256xf4E2M1FN>, token
      %b_tile, %b_token = load_view_tko weak %b_tiles[%bn, %kt] token = %start : partition_view<tile=(128x256), padding_value = zero, tensor_view<?x?xf4E2M1FN, strides=[?,1]>>, tile<i32> -> tile<128x256xf4E2M1FN>, token
      %as_packed, %as_token = load_view_tko weak %as_tiles[%bm, %kt, %zero, %zero] token = %start : partition_view<tile=(1x2x32x16), padding_value = zero, tensor_view<?x?x32x16xf8E8M0FNU, strides=[?,512,16,1]>>, tile<i32> -> tile<1x2x32x16xf8E8M0FNU>, token
      %as_apart = reshape %as_packed : tile<1x2x32x16xf8E8M0FNU> -> tile<1x2x32x4x4xf8E8M0FNU>
      %as_ordered = permute %as_apart [0, 3, 2, 1, 4] : tile<1x2x32x4x4xf8E8M0FNU> -> tile<1x4x32x2x4xf8E8M0FNU>
      %as_tile = reshape %as_ordered : tile<1x4x32x2x4xf8E8M0FNU> -> tile<128x8xf8E8M0FNU>
      %bs_packed, %bs_token = load_view_tko weak %bs_tiles[%bn, %kt, %zero, %zero] token = %start : partition_view<tile=(1x2x32x16), padding_value = zero, tensor_view<?x?x32x16xf8E8M0FNU, strides=[?,512,16,1]>>, tile<i32> -> tile<1x2x32x16xf8E8M0FNU>, token
      %bs_apart = reshape %bs_packed : tile<1x2x32x16xf8E8M0FNU> -> tile<1x2x32x4x4xf8E8M0FNU>
      %bs_ordered = permute %bs_apart [0, 3, 2, 1, 4] : tile<1x2x32x4x4xf8E8M0FNU> -> tile<1x4x32x2x4xf8E8M0FNU>
      %bs_tile = reshape %bs_ordered : tile<1x4x32x2x4xf8E8M0FNU> -> tile<128x8xf8E8M0FNU>
      %b_transposed = permute %b_tile [1, 0] : tile<128x256xf4E2M1FN> -> tile<256x128xf4E2M1FN>
      %bs_transposed = permute %bs_tile [1, 0] : tile<128x8xf8E8M0FNU> -> tile<8x128xf8E8M0FNU>
      %acc_next = mmaf_scaled %a_tile, %b_transposed, %acc, %as_tile, %bs_transposed : tile<128x256xf4E2M1FN>, tile<256x128xf4E2M1FN>, tile<128x128xf32>, tile<128x8xf8E8M0FNU>, tile<8x128xf8E8M0FNU>
      continue %acc_next : tile<128x128xf32>
    }
    %done = store_view_tko weak %product, %d_tiles[%bm, %bn] token = %start : tile<128x128xf32>, partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
    return
  }
}
