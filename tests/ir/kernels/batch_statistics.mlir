entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<ptr<f32>>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<f32>>
  %assume_1 = assume div_by<16>, %arg8 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_5 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_6 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_4, %assume_5], strides = [%assume_6, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_7 = assume bounded<0, ?>, %arg6 : tile<i32>
  %tview_8 = make_tensor_view %assume_0, shape = [%assume_7], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_9 = assume bounded<0, ?>, %arg9 : tile<i32>
  %tview_10 = make_tensor_view %assume_1, shape = [%assume_9], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<16xf32>
  %cst_0_f32_11 = constant <f32: 0.000000e+00> : tile<16xf32>
  %cst_8_i32 = constant <i32: 8> : tile<i32>
  %1 = divi %arg11, %cst_8_i32 signed rounding<positive_inf> : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_1_i32_12 = constant <i32: 1> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(8x16), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
  %for:2 = for %loopIdx in (%cst_0_i32 to %1, step %cst_1_i32_12) : tile<i32> iter_values(%iterArg0 = %cst_0_f32_11, %iterArg1 = %cst_0_f32) -> (tile<16xf32>, tile<16xf32>) {
    %tile, %result_token = load_view_tko weak %pview[%loopIdx, %blockId_x] token = %0 : partition_view<tile=(8x16), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<8x16xf32>, token
    %reduce = reduce %tile dim=0 identities=[0.000000e+00 : f32] : tile<8x16xf32> -> tile<16xf32> 
    (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
      %17 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
      yield %17 : tile<f32>
    }
    %14 = addf %iterArg1, %reduce  : tile<16xf32>
    %15 = mulf %tile, %tile  : tile<8x16xf32>
    %reduce_21 = reduce %15 dim=0 identities=[0.000000e+00 : f32] : tile<8x16xf32> -> tile<16xf32> 
    (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
      %17 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
      yield %17 : tile<f32>
    }
    %16 = addf %iterArg0, %reduce_21  : tile<16xf32>
    continue %16, %14 : tile<16xf32>, tile<16xf32>
  }
  %2 = itof %arg11 signed  : tile<i32> -> tile<f32>
  %reshape = reshape %2 : tile<f32> -> tile<1xf32>
  %bcast = broadcast %reshape : tile<1xf32> -> tile<16xf32>
  %3 = divf %for#1, %bcast  : tile<16xf32>
  %pview_13 = make_partition_view %tview_8 : partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>
  %4 = store_view_tko weak %3, %pview_13[%blockId_x] token = %0 : tile<16xf32>, partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  %5 = itof %arg11 signed  : tile<i32> -> tile<f32>
  %reshape_14 = reshape %5 : tile<f32> -> tile<1xf32>
  %bcast_15 = broadcast %reshape_14 : tile<1xf32> -> tile<16xf32>
  %6 = divf %for#0, %bcast_15  : tile<16xf32>
  %7 = itof %arg11 signed  : tile<i32> -> tile<f32>
  %reshape_16 = reshape %7 : tile<f32> -> tile<1xf32>
  %bcast_17 = broadcast %reshape_16 : tile<1xf32> -> tile<16xf32>
  %8 = divf %for#1, %bcast_17  : tile<16xf32>
  %9 = itof %arg11 signed  : tile<i32> -> tile<f32>
  %reshape_18 = reshape %9 : tile<f32> -> tile<1xf32>
  %bcast_19 = broadcast %reshape_18 : tile<1xf32> -> tile<16xf32>
  %10 = divf %for#1, %bcast_19  : tile<16xf32>
  %11 = negf %8 : tile<16xf32>
  %12 = fma %11, %10, %6  : tile<16xf32>
  %pview_20 = make_partition_view %tview_10 : partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>
  %13 = store_view_tko weak %12, %pview_20[%blockId_x] token = %0 : tile<16xf32>, partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
