// Block-scaled GEMM of NVFP4: D = (A x scales) (B x scales)^T, f4E2M1FN inputs, a scale of f8E4M3FN for each 16 of a row,
// f32 accumulation and D; any m and n, k a multiple of 32.
//
// A is m x k, B is n x k, D is m x n, all row-major. Of A and B two neighbours along k lie in a byte, the first one in its
// low half: rows have `half` = k / 2 bytes, lda and ldb are their pitches in bytes, ldd that of D in elements. Scales lie
// as cuBLAS and CUTLASS have them: blocks of 128 rows and four scales, 512 bytes each, in which row r has its four at
// byte r % 32 * 16 + r / 32 * 4; ceil(m / 128) (ceil(n / 128) for B) x k_blocks blocks, k_blocks = ceil(k / 64).
// Each tile block makes one 128 x 128 tile of D, walking k in steps of 256: sixteen scales of a row a step. Tiles that
// overhang an array read zeros and store nothing outside it. Grid: (ceil(m / 128), ceil(n / 128), 1).
// Promised: 16-byte aligned bases, pitches of A and B that are multiples of 16, of D multiples of 4. That no scale is
// negative a program cannot promise: `--fast uscale` lets tensor cores read them as ue4m3 (sm_120a needs no permission).
cuda_tile.module @gemm_nvfp4 {
  entry @gemm_nvfp4(%a: tile<ptr<i8>>, %b: tile<ptr<i8>>,
                    %a_scales: tile<ptr<f8E4M3FN>>, %b_scales: tile<ptr<f8E4M3FN>>, %d: tile<ptr<f32>>,
                    %m: tile<i32>, %n: tile<i32>, %half: tile<i32>,
                    %m_blocks: tile<i32>, %n_blocks: tile<i32>, %k_blocks: tile<i32>,
                    %lda: tile<i32>, %ldb: tile<i32>, %ldd: tile<i32>) {
    %start = make_token : token
    %a_base = assume div_by<16>, %a : tile<ptr<i8>>
    %b_base = assume div_by<16>, %b : tile<ptr<i8>>
    %as_base = assume div_by<16>, %a_scales : tile<ptr<f8E4M3FN>>
    %bs_base = assume div_by<16>, %b_scales : tile<ptr<f8E4M3FN>>
    %d_base = assume div_by<16>, %d : tile<ptr<f32>>
    %rows = assume bounded<0, ?>, %m : tile<i32>
    %cols = assume bounded<0, ?>, %n : tile<i32>
    %k_bounded = assume bounded<0, ?>, %half : tile<i32>
    %depth = assume div_by<16>, %k_bounded : tile<i32>
    %over = assume bounded<0, ?>, %m_blocks : tile<i32>
    %across = assume bounded<0, ?>, %n_blocks : tile<i32>
    %deep = assume bounded<0, ?>, %k_blocks : tile<i32>
    %lda_bounded = assume bounded<0, ?>, %lda : tile<i32>
    %ldb_bounded = assume bounded<0, ?>, %ldb : tile<i32>
    %ldd_bounded = assume bounded<0, ?>, %ldd : tile<i32>
    %a_pitch = assume div_by<16>, %lda_bounded : tile<i32>
    %b_pitch = assume div_by<16>, %ldb_bounded : tile<i32>
    %block = constant <i32: 512> : tile<i32>
    %s_pitch = muli %deep, %block : tile<i32>
    %d_pitch = assume div_by<4>, %ldd_bounded : tile<i32>

    %a_view = make_tensor_view %a_base, shape = [%rows, %depth], strides = [%a_pitch, 1] : tile<i32> -> tensor_view<?x?xi8, strides=[?,1]>
    %b_view = make_tensor_view %b_base, shape = [%cols, %depth], strides = [%b_pitch, 1] : tile<i32> -> tensor_view<?x?xi8, strides=[?,1]>
    %as_view = make_tensor_view %as_base, shape = [%over, %deep, 32, 16], strides = [%s_pitch, 512, 16, 1] : tile<i32> -> tensor_view<?x?x32x16xf8E4M3FN, strides=[?,512,16,1]>
    %bs_view = make_tensor_view %bs_base, shape = [%across, %deep, 32, 16], strides = [%s_pitch, 512, 16, 1] : tile<i32> -> tensor_view<?x?x32x16xf8E4M3FN, strides=[?,512,16,1]>
    %d_view = make_tensor_view %d_base, shape = [%rows, %cols], strides = [%d_pitch, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %a_tiles = make_partition_view %a_view : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xi8, strides=[?,1]>>
    %b_tiles = make_partition_view %b_view : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xi8, strides=[?,1]>>
    %as_tiles = make_partition_view %as_view : partition_view<tile=(1x4x32x16), padding_value = zero, tensor_view<?x?x32x16xf8E4M3FN, strides=[?,512,16,1]>>
    %bs_tiles = make_partition_view %bs_view : partition_view<tile=(1x4x32x16), padding_value = zero, tensor_view<?x?x32x16xf8E4M3FN, strides=[?,512,16,1]>>
    %d_tiles = make_partition_view %d_view : partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>

    %bm, %bn, %bz = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %acc_zero = constant <f32: 0.000000e+00> : tile<128x128xf32>
    %space:2 = get_index_space_shape %a_tiles : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xi8, strides=[?,1]>> -> tile<i32>

    %product = for %kt in (%zero to %space#1, step %one) : tile<i32> iter_values(%acc = %acc_zero) -> (tile<128x128xf32>) {
      %a_bytes, %a_token = load_view_tko weak %a_tiles[%bm, %kt] token = %start : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xi8, strides=[?,1]>>, tile<i32> -> tile<128x128xi8>, token
      %a_flat = reshape %a_bytes : tile<128x128xi8> -> tile<16384xi8>
      %a_unpacked = unpack %a_flat : tile<16384xi8> -> tile<32768xf4E2M1FN>
      %a_tile = reshape %a_unpacked : tile<32768xf4E2M1FN> -> tile<128x256xf4E2M1FN>
      %b_bytes, %b_token = load_view_tko weak %b_tiles[%bn, %kt] token = %start : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xi8, strides=[?,1]>>, tile<i32> -> tile<128x128xi8>, token
      %b_flat = reshape %b_bytes : tile<128x128xi8> -> tile<16384xi8>
      %b_unpacked = unpack %b_flat : tile<16384xi8> -> tile<32768xf4E2M1FN>
      %b_tile = reshape %b_unpacked : tile<32768xf4E2M1FN> -> tile<128x256xf4E2M1FN>
      %as_packed, %as_token = load_view_tko weak %as_tiles[%bm, %kt, %zero, %zero] token = %start : partition_view<tile=(1x4x32x16), padding_value = zero, tensor_view<?x?x32x16xf8E4M3FN, strides=[?,512,16,1]>>, tile<i32> -> tile<1x4x32x16xf8E4M3FN>, token
      %as_apart = reshape %as_packed : tile<1x4x32x16xf8E4M3FN> -> tile<1x4x32x4x4xf8E4M3FN>
      %as_ordered = permute %as_apart [0, 3, 2, 1, 4] : tile<1x4x32x4x4xf8E4M3FN> -> tile<1x4x32x4x4xf8E4M3FN>
      %as_tile = reshape %as_ordered : tile<1x4x32x4x4xf8E4M3FN> -> tile<128x16xf8E4M3FN>
      %bs_packed, %bs_token = load_view_tko weak %bs_tiles[%bn, %kt, %zero, %zero] token = %start : partition_view<tile=(1x4x32x16), padding_value = zero, tensor_view<?x?x32x16xf8E4M3FN, strides=[?,512,16,1]>>, tile<i32> -> tile<1x4x32x16xf8E4M3FN>, token
      %bs_apart = reshape %bs_packed : tile<1x4x32x16xf8E4M3FN> -> tile<1x4x32x4x4xf8E4M3FN>
      %bs_ordered = permute %bs_apart [0, 3, 2, 1, 4] : tile<1x4x32x4x4xf8E4M3FN> -> tile<1x4x32x4x4xf8E4M3FN>
      %bs_tile = reshape %bs_ordered : tile<1x4x32x4x4xf8E4M3FN> -> tile<128x16xf8E4M3FN>
      %b_transposed = permute %b_tile [1, 0] : tile<128x256xf4E2M1FN> -> tile<256x128xf4E2M1FN>
      %bs_transposed = permute %bs_tile [1, 0] : tile<128x16xf8E4M3FN> -> tile<16x128xf8E4M3FN>
      %acc_next = mmaf_scaled %a_tile, %b_transposed, %acc, %as_tile, %bs_transposed : tile<128x256xf4E2M1FN>, tile<256x128xf4E2M1FN>, tile<128x128xf32>, tile<128x16xf8E4M3FN>, tile<16x128xf8E4M3FN>
      continue %acc_next : tile<128x128xf32>
    }
    %done = store_view_tko weak %product, %d_tiles[%bm, %bn] token = %start : tile<128x128xf32>, partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
    return
  }
}
