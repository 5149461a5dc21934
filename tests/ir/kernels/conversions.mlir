entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<i32>>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<ptr<f16>>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<ptr<bf16>>, %arg10: tile<i32>, %arg11: tile<i32>, %arg12: tile<ptr<i64>>, %arg13: tile<i32>, %arg14: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<i32>>
  %assume_1 = assume div_by<16>, %arg6 : tile<ptr<f16>>
  %assume_2 = assume div_by<16>, %arg9 : tile<ptr<bf16>>
  %assume_3 = assume div_by<16>, %arg12 : tile<ptr<i64>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_4 = constant <i32: 1> : tile<i32>
  %cst_1_i32_5 = constant <i32: 1> : tile<i32>
  %cst_1_i32_6 = constant <i32: 1> : tile<i32>
  %cst_1_i32_7 = constant <i32: 1> : tile<i32>
  %assume_8 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_8], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_9 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_10 = make_tensor_view %assume_0, shape = [%assume_9], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_11 = assume bounded<0, ?>, %arg7 : tile<i32>
  %tview_12 = make_tensor_view %assume_1, shape = [%assume_11], strides = [1] : tile<i32> -> tensor_view<?xf16, strides=[1]>
  %assume_13 = assume bounded<0, ?>, %arg10 : tile<i32>
  %tview_14 = make_tensor_view %assume_2, shape = [%assume_13], strides = [1] : tile<i32> -> tensor_view<?xbf16, strides=[1]>
  %assume_15 = assume bounded<0, ?>, %arg13 : tile<i32>
  %tview_16 = make_tensor_view %assume_3, shape = [%assume_15], strides = [1] : tile<i32> -> tensor_view<?xi64, strides=[1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %cst_0_i32_17 = constant <i32: 0> : tile<i32>
  %cst_100_f32 = constant <f32: 1.000000e+02> : tile<f32>
  %reshape = reshape %cst_100_f32 : tile<f32> -> tile<1xf32>
  %bcast = broadcast %reshape : tile<1xf32> -> tile<64xf32>
  %1 = mulf %tile, %bcast  : tile<64xf32>
  %2 = ftoi %1 signed  : tile<64xf32> -> tile<64xi32>
  %pview_18 = make_partition_view %tview_10 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>
  %3 = store_view_tko weak %2, %pview_18[%cst_0_i32_17] token = %0 : tile<64xi32>, partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token
  %cst_0_i32_19 = constant <i32: 0> : tile<i32>
  %4 = ftof %tile  : tile<64xf32> -> tile<64xf16>
  %pview_20 = make_partition_view %tview_12 : partition_view<tile=(64), tensor_view<?xf16, strides=[1]>>
  %5 = store_view_tko weak %4, %pview_20[%cst_0_i32_19] token = %0 : tile<64xf16>, partition_view<tile=(64), tensor_view<?xf16, strides=[1]>>, tile<i32> -> token
  %cst_0_i32_21 = constant <i32: 0> : tile<i32>
  %6 = ftof %tile  : tile<64xf32> -> tile<64xbf16>
  %pview_22 = make_partition_view %tview_14 : partition_view<tile=(64), tensor_view<?xbf16, strides=[1]>>
  %7 = store_view_tko weak %6, %pview_22[%cst_0_i32_21] token = %0 : tile<64xbf16>, partition_view<tile=(64), tensor_view<?xbf16, strides=[1]>>, tile<i32> -> token
  %cst_0_i32_23 = constant <i32: 0> : tile<i32>
  %cst_1000_f32 = constant <f32: 1.000000e+03> : tile<f32>
  %reshape_24 = reshape %cst_1000_f32 : tile<f32> -> tile<1xf32>
  %bcast_25 = broadcast %reshape_24 : tile<1xf32> -> tile<64xf32>
  %8 = mulf %tile, %bcast_25  : tile<64xf32>
  %9 = ftoi %8 signed  : tile<64xf32> -> tile<64xi16>
  %10 = exti %9 signed : tile<64xi16> -> tile<64xi64>
  %pview_26 = make_partition_view %tview_16 : partition_view<tile=(64), tensor_view<?xi64, strides=[1]>>
  %11 = store_view_tko weak %10, %pview_26[%cst_0_i32_23] token = %0 : tile<64xi64>, partition_view<tile=(64), tensor_view<?xi64, strides=[1]>>, tile<i32> -> token
  return
}
