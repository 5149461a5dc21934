// Row softmax, f32: y[i, :] = exp(x[i, :] - max) / sum, for rows of up to 1024 elements.
//
// x and y are m x n, row-major, with row pitches ldx and ldy. Each tile block holds one row. What lies past the row's
// end reads as minus infinity, so it adds nothing to the maximum or to the sum. Grid: (m, 1, 1).
cuda_tile.module @softmax {
  entry @softmax(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %ldx: tile<i32>, %ldy: tile<i32>) {
    %start = make_token : token
    %x_base = assume div_by<16>, %x : tile<ptr<f32>>
    %y_base = assume div_by<16>, %y : tile<ptr<f32>>
    %rows = assume bounded<0, ?>, %m : tile<i32>
    %cols = assume bounded<0, 1024>, %n : tile<i32>
    %ldx_bounded = assume bounded<0, ?>, %ldx : tile<i32>
    %ldy_bounded = assume bounded<0, ?>, %ldy : tile<i32>
    %x_pitch = assume div_by<4>, %ldx_bounded : tile<i32>
    %y_pitch = assume div_by<4>, %ldy_bounded : tile<i32>
    %x_view = make_tensor_view %x_base, shape = [%rows, %cols], strides = [%x_pitch, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %y_view = make_tensor_view %y_base, shape = [%rows, %cols], strides = [%y_pitch, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %x_tiles = make_partition_view %x_view : partition_view<tile=(1x1024), padding_value = neg_inf, tensor_view<?x?xf32, strides=[?,1]>>
    %y_tiles = make_partition_view %y_view : partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>

    %row, %block_y, %block_z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %x_tile, %x_token = load_view_tko weak %x_tiles[%row, %zero] token = %start : partition_view<tile=(1x1024), padding_value = neg_inf, tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x1024xf32>, token

    %max = reduce %x_tile dim=1 identities=[0xFF800000 : f32] : tile<1x1024xf32> -> tile<1xf32>
    (%max_lhs: tile<f32>, %max_rhs: tile<f32>) {
      %greater = maxf %max_lhs, %max_rhs : tile<f32>
      yield %greater : tile<f32>
    }
    %max_column = reshape %max : tile<1xf32> -> tile<1x1xf32>
    %max_all = broadcast %max_column : tile<1x1xf32> -> tile<1x1024xf32>
    %shifted = subf %x_tile, %max_all : tile<1x1024xf32>
    %power = exp %shifted : tile<1x1024xf32>

    %sum = reduce %power dim=1 identities=[0.000000e+00 : f32] : tile<1x1024xf32> -> tile<1xf32>
    (%sum_lhs: tile<f32>, %sum_rhs: tile<f32>) {
      %added = addf %sum_lhs, %sum_rhs : tile<f32>
      yield %added : tile<f32>
    }
    %sum_column = reshape %sum : tile<1xf32> -> tile<1x1xf32>
    %sum_all = broadcast %sum_column : tile<1x1xf32> -> tile<1x1024xf32>
    %result = divf %power, %sum_all : tile<1x1024xf32>
    %done = store_view_tko weak %result, %y_tiles[%row, %zero] token = %start : tile<1x1024xf32>, partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
    return
  }
}
