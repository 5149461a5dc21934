entry @shapes(%arg0: tile<ptr<bf16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<i32>) optimization_hints=<sm_80 = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<bf16>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_1 = constant <i32: 1> : tile<i32>
  %cst_1_i64 = constant <i64: 1> : tile<16x16xi64>
  %assume_2 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_3 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_2, %assume_3], strides = [%assume_4, 1] : tile<i32> -> tensor_view<?x?xbf16, strides=[?,1]>
  %assume_5 = assume bounded<0, ?>, %arg6 : tile<i32>
  %assume_6 = assume bounded<0, ?>, %arg7 : tile<i32>
  %assume_7 = assume bounded<0, ?>, %arg8 : tile<i32>
  %tview_8 = make_tensor_view %assume_0, shape = [%assume_5, %assume_6], strides = [%assume_7, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_0_i32_9 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(16x16), tensor_view<?x?xbf16, strides=[?,1]>, dim_map=[1, 0]>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32, %cst_0_i32_9] token = %0 optimization_hints = <sm_80 = {latency = 3}> : partition_view<tile=(16x16), tensor_view<?x?xbf16, strides=[?,1]>, dim_map=[1, 0]>, tile<i32> -> tile<16x16xbf16>, token
  %1 = permute %tile [1, 0] : tile<16x16xbf16> -> tile<16x16xbf16>
  %2 = cat %tile, %1 dim = 0 : tile<16x16xbf16>, tile<16x16xbf16> -> tile<32x16xbf16>
  %cst_1_i32_10 = constant <i32: 1> : tile<i32>
  %cst_0_i32_11 = constant <i32: 0> : tile<i32>
  %3 = extract %2[%cst_1_i32_10, %cst_0_i32_11] : tile<32x16xbf16> -> tile<16x16xbf16>
  %reshape = reshape %tile : tile<16x16xbf16> -> tile<1x16x16xbf16>
  %reshape_12 = reshape %3 : tile<16x16xbf16> -> tile<1x16x16xbf16>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<1x16x16xf32>
  %4 = mmaf %reshape, %reshape_12, %cst_0_f32 : tile<1x16x16xbf16>, tile<1x16x16xbf16>, tile<1x16x16xf32>
  %5 = iota : tile<16xi32>
  %reshape_13 = reshape %5 : tile<16xi32> -> tile<16x1xi32>
  %6 = iota : tile<16xi32>
  %reshape_14 = reshape %6 : tile<16xi32> -> tile<1x16xi32>
  %bcast = broadcast %reshape_14 : tile<1x16xi32> -> tile<16x16xi32>
  %bcast_15 = broadcast %reshape_13 : tile<16x1xi32> -> tile<16x16xi32>
  %7 = cmpi greater_than %bcast, %bcast_15, signed : tile<16x16xi32> -> tile<16x16xi1>
  %8 = exti %reshape_13 signed : tile<16x1xi32> -> tile<16x1xi64>
  %bcast_16 = broadcast %8 : tile<16x1xi64> -> tile<16x16xi64>
  %9 = exti %assume_2 signed : tile<i32> -> tile<i64>
  %reshape_17 = reshape %9 : tile<i64> -> tile<1x1xi64>
  %bcast_18 = broadcast %reshape_17 : tile<1x1xi64> -> tile<16x16xi64>
  %10 = cmpi less_than %bcast_16, %bcast_18, unsigned : tile<16x16xi64> -> tile<16x16xi1>
  %11 = exti %assume_4 signed : tile<i32> -> tile<i64>
  %reshape_19 = reshape %11 : tile<i64> -> tile<1x1xi64>
  %bcast_20 = broadcast %reshape_19 : tile<1x1xi64> -> tile<16x16xi64>
  %12 = muli %bcast_16, %bcast_20 : tile<16x16xi64>
  %13 = exti %reshape_14 signed : tile<1x16xi32> -> tile<1x16xi64>
  %bcast_21 = broadcast %13 : tile<1x16xi64> -> tile<16x16xi64>
  %14 = exti %assume_3 signed : tile<i32> -> tile<i64>
  %reshape_22 = reshape %14 : tile<i64> -> tile<1x1xi64>
  %bcast_23 = broadcast %reshape_22 : tile<1x1xi64> -> tile<16x16xi64>
  %15 = cmpi less_than %bcast_21, %bcast_23, unsigned : tile<16x16xi64> -> tile<16x16xi1>
  %16 = andi %10, %15 : tile<16x16xi1>
  %17 = muli %bcast_21, %cst_1_i64 : tile<16x16xi64>
  %18 = addi %12, %17 : tile<16x16xi64>
  %reshape_24 = reshape %assume : tile<ptr<bf16>> -> tile<1x1xptr<bf16>>
  %bcast_25 = broadcast %reshape_24 : tile<1x1xptr<bf16>> -> tile<16x16xptr<bf16>>
  %19 = offset %bcast_25, %18 : tile<16x16xptr<bf16>>, tile<16x16xi64> -> tile<16x16xptr<bf16>>
  %20 = andi %16, %7 : tile<16x16xi1>
  %cst_2_bf16 = constant <bf16: 2.000000e+00> : tile<bf16>
  %reshape_26 = reshape %cst_2_bf16 : tile<bf16> -> tile<1x1xbf16>
  %bcast_27 = broadcast %reshape_26 : tile<1x1xbf16> -> tile<16x16xbf16>
  %result, %result_token_28 = load_ptr_tko weak %19, %20, %bcast_27 token=%0 : tile<16x16xptr<bf16>>, tile<16x16xi1>, tile<16x16xbf16> -> tile<16x16xbf16>, token
  %cst_0_i32_29 = constant <i32: 0> : tile<i32>
  %cst_0_i32_30 = constant <i32: 0> : tile<i32>
  %reshape_31 = reshape %4 : tile<1x16x16xf32> -> tile<16x16xf32>
  %21 = ftof %result  : tile<16x16xbf16> -> tile<16x16xf32>
  %22 = cat %reshape_31, %21 dim = 0 : tile<16x16xf32>, tile<16x16xf32> -> tile<32x16xf32>
  %pview_32 = make_partition_view %tview_8 : partition_view<tile=(32x16), tensor_view<?x?xf32, strides=[?,1]>>
  %23 = store_view_tko weak %22, %pview_32[%cst_0_i32_29, %cst_0_i32_30] token = %0 : tile<32x16xf32>, partition_view<tile=(32x16), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
