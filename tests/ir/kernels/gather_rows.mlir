entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<i32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<ptr<f32>>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<i32>, %arg12: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<i32>>
  %assume_1 = assume div_by<16>, %arg8 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i64 = constant <i64: 1> : tile<8x16xi64>
  %assume_3 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_5 = assume bounded<0, ?>, %arg3 : tile<i32>
  %assume_6 = assume bounded<0, ?>, %arg6 : tile<i32>
  %tview = make_tensor_view %assume_0, shape = [%assume_6], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_7 = assume bounded<0, ?>, %arg9 : tile<i32>
  %assume_8 = assume bounded<0, ?>, %arg10 : tile<i32>
  %assume_9 = assume bounded<0, ?>, %arg11 : tile<i32>
  %tview_10 = make_tensor_view %assume_1, shape = [%assume_7, %assume_8], strides = [%assume_9, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(8), tensor_view<?xi32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(8), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<8xi32>, token
  %1 = iota : tile<16xi32>
  %cst_0_i32_11 = constant <i32: 0> : tile<i32>
  %cst_0_i32_12 = constant <i32: 0> : tile<i32>
  %reshape = reshape %tile : tile<8xi32> -> tile<8x1xi32>
  %reshape_13 = reshape %1 : tile<16xi32> -> tile<1x16xi32>
  %cst_f32 = constant <f32: -1.000000e+00> : tile<f32>
  %2 = exti %reshape signed : tile<8x1xi32> -> tile<8x1xi64>
  %bcast = broadcast %2 : tile<8x1xi64> -> tile<8x16xi64>
  %3 = exti %assume_3 signed : tile<i32> -> tile<i64>
  %reshape_14 = reshape %3 : tile<i64> -> tile<1x1xi64>
  %bcast_15 = broadcast %reshape_14 : tile<1x1xi64> -> tile<8x16xi64>
  %4 = cmpi less_than %bcast, %bcast_15, unsigned : tile<8x16xi64> -> tile<8x16xi1>
  %5 = exti %assume_5 signed : tile<i32> -> tile<i64>
  %reshape_16 = reshape %5 : tile<i64> -> tile<1x1xi64>
  %bcast_17 = broadcast %reshape_16 : tile<1x1xi64> -> tile<8x16xi64>
  %6 = muli %bcast, %bcast_17 : tile<8x16xi64>
  %7 = exti %reshape_13 signed : tile<1x16xi32> -> tile<1x16xi64>
  %bcast_18 = broadcast %7 : tile<1x16xi64> -> tile<8x16xi64>
  %8 = exti %assume_4 signed : tile<i32> -> tile<i64>
  %reshape_19 = reshape %8 : tile<i64> -> tile<1x1xi64>
  %bcast_20 = broadcast %reshape_19 : tile<1x1xi64> -> tile<8x16xi64>
  %9 = cmpi less_than %bcast_18, %bcast_20, unsigned : tile<8x16xi64> -> tile<8x16xi1>
  %10 = andi %4, %9 : tile<8x16xi1>
  %11 = muli %bcast_18, %cst_1_i64 : tile<8x16xi64>
  %12 = addi %6, %11 : tile<8x16xi64>
  %reshape_21 = reshape %assume : tile<ptr<f32>> -> tile<1x1xptr<f32>>
  %bcast_22 = broadcast %reshape_21 : tile<1x1xptr<f32>> -> tile<8x16xptr<f32>>
  %13 = offset %bcast_22, %12 : tile<8x16xptr<f32>>, tile<8x16xi64> -> tile<8x16xptr<f32>>
  %reshape_23 = reshape %cst_f32 : tile<f32> -> tile<1x1xf32>
  %bcast_24 = broadcast %reshape_23 : tile<1x1xf32> -> tile<8x16xf32>
  %result, %result_token_25 = load_ptr_tko weak %13, %10, %bcast_24 token=%0 : tile<8x16xptr<f32>>, tile<8x16xi1>, tile<8x16xf32> -> tile<8x16xf32>, token
  %pview_26 = make_partition_view %tview_10 : partition_view<tile=(8x16), tensor_view<?x?xf32, strides=[?,1]>>
  %14 = store_view_tko weak %result, %pview_26[%cst_0_i32_11, %cst_0_i32_12] token = %0 : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
