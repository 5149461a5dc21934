// Layer norm over the last dimension, f32: y = (x - mean) / sqrt(variance + eps) * weight + bias.
//
// x and y are m x n, row-major, with row pitches ldx and ldy; weight and bias have n elements. Each tile block owns a
// row of any length and passes over it three times in pieces of 1024: mean, variance, result. Padding reads zero; the
// variance pass masks it, because zero minus the mean is not zero. Grid: (m, 1, 1).
cuda_tile.module @layernorm {
  entry @layernorm(%x: tile<ptr<f32>>, %weight: tile<ptr<f32>>, %bias: tile<ptr<f32>>, %y: tile<ptr<f32>>,
                   %m: tile<i32>, %n: tile<i32>, %ldx: tile<i32>, %ldy: tile<i32>, %eps: tile<f32>) {
    %start = make_token : token
    %x_base = assume div_by<16>, %x : tile<ptr<f32>>
    %weight_base = assume div_by<16>, %weight : tile<ptr<f32>>
    %bias_base = assume div_by<16>, %bias : tile<ptr<f32>>
    %y_base = assume div_by<16>, %y : tile<ptr<f32>>
    %rows = assume bounded<0, ?>, %m : tile<i32>
    %cols = assume bounded<0, ?>, %n : tile<i32>
    %ldx_bounded = assume bounded<0, ?>, %ldx : tile<i32>
    %ldy_bounded = assume bounded<0, ?>, %ldy : tile<i32>
    %x_pitch = assume div_by<4>, %ldx_bounded : tile<i32>
    %y_pitch = assume div_by<4>, %ldy_bounded : tile<i32>
    %x_view = make_tensor_view %x_base, shape = [%rows, %cols], strides = [%x_pitch, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %weight_view = make_tensor_view %weight_base, shape = [%cols], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %bias_view = make_tensor_view %bias_base, shape = [%cols], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %y_view = make_tensor_view %y_base, shape = [%rows, %cols], strides = [%y_pitch, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %x_tiles = make_partition_view %x_view : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
    %weight_tiles = make_partition_view %weight_view : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
    %bias_tiles = make_partition_view %bias_view : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
    %y_tiles = make_partition_view %y_view : partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>

    %row, %block_y, %block_z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %width = constant <i32: 1024> : tile<i32>
    %zeros = constant <f32: 0.000000e+00> : tile<1x1024xf32>
    %space:2 = get_index_space_shape %x_tiles : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>> -> tile<i32>
    %count = itof %cols signed : tile<i32> -> tile<f32>
    %count_1 = reshape %count : tile<f32> -> tile<1x1xf32>

    // Pass 1: the mean.
    %partial = for %j in (%zero to %space#1, step %one) : tile<i32> iter_values(%acc = %zeros) -> (tile<1x1024xf32>) {
      %x_tile, %x_token = load_view_tko weak %x_tiles[%row, %j] token = %start : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x1024xf32>, token
      %acc_next = addf %acc, %x_tile : tile<1x1024xf32>
      continue %acc_next : tile<1x1024xf32>
    }
    %sum = reduce %partial dim=1 identities=[0.000000e+00 : f32] : tile<1x1024xf32> -> tile<1xf32>
    (%sum_lhs: tile<f32>, %sum_rhs: tile<f32>) {
      %added = addf %sum_lhs, %sum_rhs : tile<f32>
      yield %added : tile<f32>
    }
    %sum_column = reshape %sum : tile<1xf32> -> tile<1x1xf32>
    %mean = divf %sum_column, %count_1 : tile<1x1xf32>
    %mean_all = broadcast %mean : tile<1x1xf32> -> tile<1x1024xf32>

    // Pass 2: the variance. Elements past the row's end must not count.
    %lane = iota : tile<1024xi32>
    %cols_1 = reshape %cols : tile<i32> -> tile<1xi32>
    %cols_all = broadcast %cols_1 : tile<1xi32> -> tile<1024xi32>
    %squares = for %j in (%zero to %space#1, step %one) : tile<i32> iter_values(%acc = %zeros) -> (tile<1x1024xf32>) {
      %x_tile, %x_token = load_view_tko weak %x_tiles[%row, %j] token = %start : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x1024xf32>, token
      %first = muli %j, %width : tile<i32>
      %first_1 = reshape %first : tile<i32> -> tile<1xi32>
      %first_all = broadcast %first_1 : tile<1xi32> -> tile<1024xi32>
      %index = addi %first_all, %lane : tile<1024xi32>
      %inside = cmpi less_than %index, %cols_all, signed : tile<1024xi32> -> tile<1024xi1>
      %inside_row = reshape %inside : tile<1024xi1> -> tile<1x1024xi1>
      %shifted = subf %x_tile, %mean_all : tile<1x1024xf32>
      %centred = select %inside_row, %shifted, %zeros : tile<1x1024xi1>, tile<1x1024xf32>
      %acc_next = fma %centred, %centred, %acc : tile<1x1024xf32>
      continue %acc_next : tile<1x1024xf32>
    }
    %square_sum = reduce %squares dim=1 identities=[0.000000e+00 : f32] : tile<1x1024xf32> -> tile<1xf32>
    (%square_lhs: tile<f32>, %square_rhs: tile<f32>) {
      %added = addf %square_lhs, %square_rhs : tile<f32>
      yield %added : tile<f32>
    }
    %square_column = reshape %square_sum : tile<1xf32> -> tile<1x1xf32>
    %variance = divf %square_column, %count_1 : tile<1x1xf32>
    %eps_1 = reshape %eps : tile<f32> -> tile<1x1xf32>
    %variance_eps = addf %variance, %eps_1 : tile<1x1xf32>
    %scale = rsqrt %variance_eps : tile<1x1xf32>
    %scale_all = broadcast %scale : tile<1x1xf32> -> tile<1x1024xf32>

    // Pass 3: the result.
    for %j in (%zero to %space#1, step %one) : tile<i32> {
      %x_tile, %x_token = load_view_tko weak %x_tiles[%row, %j] token = %start : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x1024xf32>, token
      %weight_tile, %weight_token = load_view_tko weak %weight_tiles[%j] token = %start : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
      %bias_tile, %bias_token = load_view_tko weak %bias_tiles[%j] token = %start : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
      %weight_row = reshape %weight_tile : tile<1024xf32> -> tile<1x1024xf32>
      %bias_row = reshape %bias_tile : tile<1024xf32> -> tile<1x1024xf32>
      %shifted = subf %x_tile, %mean_all : tile<1x1024xf32>
      %normal = mulf %shifted, %scale_all : tile<1x1024xf32>
      %result = fma %normal, %weight_row, %bias_row : tile<1x1024xf32>
      %done = store_view_tko weak %result, %y_tiles[%row, %j] token = %start : tile<1x1024xf32>, partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
    }
    return
  }
}
