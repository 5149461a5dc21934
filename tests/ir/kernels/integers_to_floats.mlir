entry @k(%arg0: tile<ptr<i64>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<i16>>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<ptr<f32>>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<ptr<f16>>, %arg10: tile<i32>, %arg11: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<i64>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<i16>>
  %assume_1 = assume div_by<16>, %arg6 : tile<ptr<f32>>
  %assume_2 = assume div_by<16>, %arg9 : tile<ptr<f16>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %cst_1_i32_4 = constant <i32: 1> : tile<i32>
  %cst_1_i32_5 = constant <i32: 1> : tile<i32>
  %assume_6 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_6], strides = [1] : tile<i32> -> tensor_view<?xi64, strides=[1]>
  %assume_7 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_8 = make_tensor_view %assume_0, shape = [%assume_7], strides = [1] : tile<i32> -> tensor_view<?xi16, strides=[1]>
  %assume_9 = assume bounded<0, ?>, %arg7 : tile<i32>
  %tview_10 = make_tensor_view %assume_1, shape = [%assume_9], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_11 = assume bounded<0, ?>, %arg10 : tile<i32>
  %tview_12 = make_tensor_view %assume_2, shape = [%assume_11], strides = [1] : tile<i32> -> tensor_view<?xf16, strides=[1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_0_i32_13 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(64), tensor_view<?xi64, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32_13] token = %0 : partition_view<tile=(64), tensor_view<?xi64, strides=[1]>>, tile<i32> -> tile<64xi64>, token
  %1 = itof %tile signed  : tile<64xi64> -> tile<64xf32>
  %pview_14 = make_partition_view %tview_10 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %2 = store_view_tko weak %1, %pview_14[%cst_0_i32] token = %0 : tile<64xf32>, partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  %cst_0_i32_15 = constant <i32: 0> : tile<i32>
  %cst_0_i32_16 = constant <i32: 0> : tile<i32>
  %pview_17 = make_partition_view %tview_8 : partition_view<tile=(64), tensor_view<?xi16, strides=[1]>>
  %tile_18, %result_token_19 = load_view_tko weak %pview_17[%cst_0_i32_16] token = %0 : partition_view<tile=(64), tensor_view<?xi16, strides=[1]>>, tile<i32> -> tile<64xi16>, token
  %3 = itof %tile_18 unsigned  : tile<64xi16> -> tile<64xf16>
  %pview_20 = make_partition_view %tview_12 : partition_view<tile=(64), tensor_view<?xf16, strides=[1]>>
  %4 = store_view_tko weak %3, %pview_20[%cst_0_i32_15] token = %0 : tile<64xf16>, partition_view<tile=(64), tensor_view<?xf16, strides=[1]>>, tile<i32> -> token
  return
}
