entry @k(%arg0: tile<ptr<f16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f16>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<i32>, %arg10: tile<ptr<f32>>, %arg11: tile<i32>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f16>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<f16>>
  %assume_1 = assume div_by<16>, %arg10 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i64 = constant <i64: 1> : tile<32x16xi64>
  %assume_3 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_5 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_3, %assume_4], strides = [%assume_5, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %assume_6 = assume bounded<0, ?>, %arg6 : tile<i32>
  %assume_7 = assume bounded<0, ?>, %arg7 : tile<i32>
  %assume_8 = assume bounded<0, ?>, %arg8 : tile<i32>
  %tview_9 = make_tensor_view %assume_0, shape = [%assume_6, %assume_7], strides = [%assume_8, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %assume_10 = assume bounded<0, ?>, %arg11 : tile<i32>
  %assume_11 = assume bounded<0, ?>, %arg12 : tile<i32>
  %assume_12 = assume bounded<0, ?>, %arg13 : tile<i32>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(32x16), tensor_view<?x?xf16, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32, %blockId_x] token = %0 : partition_view<tile=(32x16), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<32x16xf16>, token
  %1 = join_tokens %0, %result_token : token
  %cst_0_i32_13 = constant <i32: 0> : tile<i32>
  %pview_14 = make_partition_view %tview_9 : partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>>
  %tile_15, %result_token_16 = load_view_tko weak %pview_14[%blockId_x, %cst_0_i32_13] token = %0 : partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<16x16xf16>, token
  %2 = join_tokens %0, %result_token_16 : token
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<32x16xf32>
  %3 = mmaf %tile, %tile_15, %cst_0_f32 : tile<32x16xf16>, tile<16x16xf16>, tile<32x16xf32>
  %4 = iota : tile<32xi32>
  %reshape = reshape %4 : tile<32xi32> -> tile<32x1xi32>
  %5 = iota : tile<16xi32>
  %reshape_17 = reshape %5 : tile<16xi32> -> tile<1x16xi32>
  %6 = exti %reshape signed : tile<32x1xi32> -> tile<32x1xi64>
  %bcast = broadcast %6 : tile<32x1xi64> -> tile<32x16xi64>
  %7 = exti %assume_10 signed : tile<i32> -> tile<i64>
  %reshape_18 = reshape %7 : tile<i64> -> tile<1x1xi64>
  %bcast_19 = broadcast %reshape_18 : tile<1x1xi64> -> tile<32x16xi64>
  %8 = cmpi less_than %bcast, %bcast_19, unsigned : tile<32x16xi64> -> tile<32x16xi1>
  %9 = exti %assume_12 signed : tile<i32> -> tile<i64>
  %reshape_20 = reshape %9 : tile<i64> -> tile<1x1xi64>
  %bcast_21 = broadcast %reshape_20 : tile<1x1xi64> -> tile<32x16xi64>
  %10 = muli %bcast, %bcast_21 : tile<32x16xi64>
  %11 = exti %reshape_17 signed : tile<1x16xi32> -> tile<1x16xi64>
  %bcast_22 = broadcast %11 : tile<1x16xi64> -> tile<32x16xi64>
  %12 = exti %assume_11 signed : tile<i32> -> tile<i64>
  %reshape_23 = reshape %12 : tile<i64> -> tile<1x1xi64>
  %bcast_24 = broadcast %reshape_23 : tile<1x1xi64> -> tile<32x16xi64>
  %13 = cmpi less_than %bcast_22, %bcast_24, unsigned : tile<32x16xi64> -> tile<32x16xi1>
  %14 = andi %8, %13 : tile<32x16xi1>
  %15 = muli %bcast_22, %cst_1_i64 : tile<32x16xi64>
  %16 = addi %10, %15 : tile<32x16xi64>
  %reshape_25 = reshape %assume_1 : tile<ptr<f32>> -> tile<1x1xptr<f32>>
  %bcast_26 = broadcast %reshape_25 : tile<1x1xptr<f32>> -> tile<32x16xptr<f32>>
  %17 = offset %bcast_26, %16 : tile<32x16xptr<f32>>, tile<32x16xi64> -> tile<32x16xptr<f32>>
  %18 = join_tokens %0, %1, %2 : token
  %result, %result_token_27 = atomic_rmw_tko acq_rel device %17, addf, %3, %14 token=%18 : tile<32x16xptr<f32>>, tile<32x16xf32>, tile<32x16xi1> -> tile<32x16xf32>, token
  return
}
