entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_1 = constant <i32: 1> : tile<i32>
  %assume_2 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_3 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_2, %assume_3], strides = [%assume_4, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_5 = assume bounded<0, ?>, %arg6 : tile<i32>
  %assume_6 = assume bounded<0, ?>, %arg7 : tile<i32>
  %assume_7 = assume bounded<0, ?>, %arg8 : tile<i32>
  %tview_8 = make_tensor_view %assume_0, shape = [%assume_5, %assume_6], strides = [%assume_7, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_0_i32_9 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(8x16), tensor_view<?x?xf32, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32, %cst_0_i32_9] token = %0 : partition_view<tile=(8x16), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<8x16xf32>, token
  %1 = permute %tile [1, 0] : tile<8x16xf32> -> tile<16x8xf32>
  %2 = permute %tile [1, 0] : tile<8x16xf32> -> tile<16x8xf32>
  %3 = cat %1, %2 dim = 1 : tile<16x8xf32>, tile<16x8xf32> -> tile<16x16xf32>
  %cst_1_i32_10 = constant <i32: 1> : tile<i32>
  %cst_0_i32_11 = constant <i32: 0> : tile<i32>
  %4 = extract %3[%cst_1_i32_10, %cst_0_i32_11] : tile<16x16xf32> -> tile<8x16xf32>
  %reshape = reshape %4 : tile<8x16xf32> -> tile<2x4x16xf32>
  %5 = permute %reshape [2, 0, 1] : tile<2x4x16xf32> -> tile<16x2x4xf32>
  %reshape_12 = reshape %5 : tile<16x2x4xf32> -> tile<16x8xf32>
  %cst_0_i32_13 = constant <i32: 0> : tile<i32>
  %cst_0_i32_14 = constant <i32: 0> : tile<i32>
  %pview_15 = make_partition_view %tview_8 : partition_view<tile=(16x8), tensor_view<?x?xf32, strides=[?,1]>>
  %6 = store_view_tko weak %reshape_12, %pview_15[%cst_0_i32_13, %cst_0_i32_14] token = %0 : tile<16x8xf32>, partition_view<tile=(16x8), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
