entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<ptr<f32>>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<ptr<f32>>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<i32>, %arg15: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<f32>>
  %assume_1 = assume div_by<16>, %arg8 : tile<ptr<f32>>
  %assume_2 = assume div_by<16>, %arg11 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %cst_1_i32_4 = constant <i32: 1> : tile<i32>
  %cst_1_i32_5 = constant <i32: 1> : tile<i32>
  %assume_6 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_7 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_8 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_6, %assume_7], strides = [%assume_8, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_9 = assume bounded<0, ?>, %arg6 : tile<i32>
  %tview_10 = make_tensor_view %assume_0, shape = [%assume_9], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_11 = assume bounded<0, ?>, %arg9 : tile<i32>
  %tview_12 = make_tensor_view %assume_1, shape = [%assume_11], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_13 = assume bounded<0, ?>, %arg12 : tile<i32>
  %assume_14 = assume bounded<0, ?>, %arg13 : tile<i32>
  %assume_15 = assume bounded<0, ?>, %arg14 : tile<i32>
  %tview_16 = make_tensor_view %assume_2, shape = [%assume_13, %assume_14], strides = [%assume_15, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(4x16), tensor_view<?x?xf32, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x, %cst_0_i32] token = %0 : partition_view<tile=(4x16), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<4x16xf32>, token
  %cst_1_i32_17 = constant <i32: 1> : tile<i32>
  %pview_18 = make_partition_view %tview : partition_view<tile=(4x16), tensor_view<?x?xf32, strides=[?,1]>>
  %tile_19, %result_token_20 = load_view_tko weak %pview_18[%blockId_x, %cst_1_i32_17] token = %0 : partition_view<tile=(4x16), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<4x16xf32>, token
  %cst_0_i32_21 = constant <i32: 0> : tile<i32>
  %pview_22 = make_partition_view %tview_10 : partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>
  %tile_23, %result_token_24 = load_view_tko weak %pview_22[%cst_0_i32_21] token = %0 : partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token
  %cst_0_i32_25 = constant <i32: 0> : tile<i32>
  %pview_26 = make_partition_view %tview_12 : partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>
  %tile_27, %result_token_28 = load_view_tko weak %pview_26[%cst_0_i32_25] token = %0 : partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token
  %cst_0_i32_29 = constant <i32: 0> : tile<i32>
  %reshape = reshape %tile_23 : tile<16xf32> -> tile<1x16xf32>
  %bcast = broadcast %reshape : tile<1x16xf32> -> tile<4x16xf32>
  %reshape_30 = reshape %tile_27 : tile<16xf32> -> tile<1x16xf32>
  %bcast_31 = broadcast %reshape_30 : tile<1x16xf32> -> tile<4x16xf32>
  %1 = mulf %tile_19, %bcast_31  : tile<4x16xf32>
  %2 = negf %1 : tile<4x16xf32>
  %3 = fma %tile, %bcast, %2  : tile<4x16xf32>
  %pview_32 = make_partition_view %tview_16 : partition_view<tile=(4x16), tensor_view<?x?xf32, strides=[?,1]>>
  %4 = store_view_tko weak %3, %pview_32[%blockId_x, %cst_0_i32_29] token = %0 : tile<4x16xf32>, partition_view<tile=(4x16), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  %cst_1_i32_33 = constant <i32: 1> : tile<i32>
  %reshape_34 = reshape %tile_23 : tile<16xf32> -> tile<1x16xf32>
  %bcast_35 = broadcast %reshape_34 : tile<1x16xf32> -> tile<4x16xf32>
  %reshape_36 = reshape %tile_27 : tile<16xf32> -> tile<1x16xf32>
  %bcast_37 = broadcast %reshape_36 : tile<1x16xf32> -> tile<4x16xf32>
  %5 = mulf %tile, %bcast_37  : tile<4x16xf32>
  %6 = fma %tile_19, %bcast_35, %5  : tile<4x16xf32>
  %pview_38 = make_partition_view %tview_16 : partition_view<tile=(4x16), tensor_view<?x?xf32, strides=[?,1]>>
  %7 = store_view_tko weak %6, %pview_38[%blockId_x, %cst_1_i32_33] token = %4 : tile<4x16xf32>, partition_view<tile=(4x16), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
