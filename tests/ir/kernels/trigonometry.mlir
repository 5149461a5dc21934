entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<f32>>, %arg4: tile<i32>, %arg5: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_1 = constant <i32: 1> : tile<i32>
  %assume_2 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_2], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_3 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_4 = make_tensor_view %assume_0, shape = [%assume_3], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %1 = sin %tile : tile<64xf32>
  %2 = cos %tile : tile<64xf32>
  %3 = tan %tile : tile<64xf32>
  %4 = fma %2, %3, %1  : tile<64xf32>
  %5 = sinh %tile : tile<64xf32>
  %6 = addf %4, %5  : tile<64xf32>
  %7 = cosh %tile : tile<64xf32>
  %8 = subf %6, %7  : tile<64xf32>
  %9 = absf %tile : tile<64xf32>
  %cst_f32 = constant <f32: 5.000000e-01> : tile<f32>
  %reshape = reshape %cst_f32 : tile<f32> -> tile<1xf32>
  %bcast = broadcast %reshape : tile<1xf32> -> tile<64xf32>
  %10 = addf %9, %bcast  : tile<64xf32>
  %11 = atan2 %tile, %10 : tile<64xf32>
  %12 = addf %8, %11  : tile<64xf32>
  %cst_0_i32_5 = constant <i32: 0> : tile<i32>
  %13 = absf %tile : tile<64xf32>
  %cst_f32_6 = constant <f32: 2.500000e-01> : tile<f32>
  %reshape_7 = reshape %cst_f32_6 : tile<f32> -> tile<1xf32>
  %bcast_8 = broadcast %reshape_7 : tile<1xf32> -> tile<64xf32>
  %14 = addf %13, %bcast_8  : tile<64xf32>
  %15 = fpowf %14, %tile : tile<64xf32>
  %16 = addf %12, %15  : tile<64xf32>
  %pview_9 = make_partition_view %tview_4 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %17 = store_view_tko weak %16, %pview_9[%cst_0_i32_5] token = %0 : tile<64xf32>, partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
