entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<f32>>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<ptr<f32>>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<i32>, %arg10: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<f32>>
  %assume_1 = assume div_by<16>, %arg6 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_4], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_5 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_6 = make_tensor_view %assume_0, shape = [%assume_5], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_7 = assume bounded<0, ?>, %arg7 : tile<i32>
  %assume_8 = assume bounded<0, ?>, %arg8 : tile<i32>
  %assume_9 = assume bounded<0, ?>, %arg9 : tile<i32>
  %tview_10 = make_tensor_view %assume_1, shape = [%assume_7, %assume_8], strides = [%assume_9, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %cst_0_i32_11 = constant <i32: 0> : tile<i32>
  %pview_12 = make_partition_view %tview_6 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %tile_13, %result_token_14 = load_view_tko weak %pview_12[%cst_0_i32_11] token = %0 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %cst_0_i32_15 = constant <i32: 0> : tile<i32>
  %cst_0_i32_16 = constant <i32: 0> : tile<i32>
  %1 = maxf %tile, %tile_13 : tile<64xf32>
  %reshape = reshape %1 : tile<64xf32> -> tile<1x64xf32>
  %pview_17 = make_partition_view %tview_10 : partition_view<tile=(1x64), tensor_view<?x?xf32, strides=[?,1]>>
  %2 = store_view_tko weak %reshape, %pview_17[%cst_0_i32_15, %cst_0_i32_16] token = %0 : tile<1x64xf32>, partition_view<tile=(1x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  %cst_1_i32_18 = constant <i32: 1> : tile<i32>
  %cst_0_i32_19 = constant <i32: 0> : tile<i32>
  %3 = minf %tile, %tile_13 propagate_nan : tile<64xf32>
  %reshape_20 = reshape %3 : tile<64xf32> -> tile<1x64xf32>
  %pview_21 = make_partition_view %tview_10 : partition_view<tile=(1x64), tensor_view<?x?xf32, strides=[?,1]>>
  %4 = store_view_tko weak %reshape_20, %pview_21[%cst_1_i32_18, %cst_0_i32_19] token = %2 : tile<1x64xf32>, partition_view<tile=(1x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  %cst_2_i32 = constant <i32: 2> : tile<i32>
  %cst_0_i32_22 = constant <i32: 0> : tile<i32>
  %5 = maxf %tile, %tile_13 flush_to_zero : tile<64xf32>
  %reshape_23 = reshape %5 : tile<64xf32> -> tile<1x64xf32>
  %pview_24 = make_partition_view %tview_10 : partition_view<tile=(1x64), tensor_view<?x?xf32, strides=[?,1]>>
  %6 = store_view_tko weak %reshape_23, %pview_24[%cst_2_i32, %cst_0_i32_22] token = %4 : tile<1x64xf32>, partition_view<tile=(1x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
