entry @gemm(%arg0: tile<ptr<f16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f16>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<i32>, %arg10: tile<ptr<f32>>, %arg11: tile<i32>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<i32>, %arg15: tile<ptr<f32>>, %arg16: tile<i32>, %arg17: tile<i32>, %arg18: tile<i32>, %arg19: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f16>>
  %assume_0 = assume div_by<8>, %arg3 : tile<i32>
  %assume_1 = assume div_by<16>, %arg5 : tile<ptr<f16>>
  %assume_2 = assume div_by<8>, %arg8 : tile<i32>
  %assume_3 = assume div_by<16>, %arg10 : tile<ptr<f32>>
  %assume_4 = assume div_by<4>, %arg13 : tile<i32>
  %assume_5 = assume div_by<16>, %arg15 : tile<ptr<f32>>
  %assume_6 = assume div_by<4>, %arg18 : tile<i32>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_7 = constant <i32: 1> : tile<i32>
  %cst_1_i32_8 = constant <i32: 1> : tile<i32>
  %cst_1_i32_9 = constant <i32: 1> : tile<i32>
  %assume_10 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_11 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_assume = assume bounded<0, ?>, %assume_0 : tile<i32>
  %assume_assume_assume = assume div_by<8>, %assume_assume : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_10, %assume_11], strides = [%assume_assume_assume, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %assume_12 = assume bounded<0, ?>, %arg6 : tile<i32>
  %assume_13 = assume bounded<0, ?>, %arg7 : tile<i32>
  %assume_assume_14 = assume bounded<0, ?>, %assume_2 : tile<i32>
  %assume_assume_assume_15 = assume div_by<8>, %assume_assume_14 : tile<i32>
  %tview_16 = make_tensor_view %assume_1, shape = [%assume_12, %assume_13], strides = [%assume_assume_assume_15, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %assume_17 = assume bounded<0, ?>, %arg11 : tile<i32>
  %assume_18 = assume bounded<0, ?>, %arg12 : tile<i32>
  %assume_assume_19 = assume bounded<0, ?>, %assume_4 : tile<i32>
  %assume_assume_assume_20 = assume div_by<4>, %assume_assume_19 : tile<i32>
  %tview_21 = make_tensor_view %assume_3, shape = [%assume_17, %assume_18], strides = [%assume_assume_assume_20, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_22 = assume bounded<0, ?>, %arg16 : tile<i32>
  %assume_23 = assume bounded<0, ?>, %arg17 : tile<i32>
  %assume_assume_24 = assume bounded<0, ?>, %assume_6 : tile<i32>
  %assume_assume_assume_25 = assume div_by<4>, %assume_assume_24 : tile<i32>
  %tview_26 = make_tensor_view %assume_5, shape = [%assume_22, %assume_23], strides = [%assume_assume_assume_25, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %blockId_x_27, %blockId_y_28, %blockId_z_29 = get_tile_block_id : tile<i32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<128x128xf32>
  %pview = make_partition_view %tview : partition_view<tile=(128x64), tensor_view<?x?xf16, strides=[?,1]>>
  %1:2 = get_index_space_shape %pview : partition_view<tile=(128x64), tensor_view<?x?xf16, strides=[?,1]>> -> tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_1_i32_30 = constant <i32: 1> : tile<i32>
  %pview_31 = make_partition_view %tview : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %pview_32 = make_partition_view %tview_16 : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %for = for %loopIdx in (%cst_0_i32 to %1#1, step %cst_1_i32_30) : tile<i32> iter_values(%iterArg0 = %cst_0_f32) -> (tile<128x128xf32>) {
    %tile_35, %result_token_36 = load_view_tko weak %pview_31[%blockId_x, %loopIdx] token = %0 : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<128x64xf16>, token
    %tile_37, %result_token_38 = load_view_tko weak %pview_32[%blockId_y_28, %loopIdx] token = %0 : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<128x64xf16>, token
    %4 = permute %tile_37 [1, 0] : tile<128x64xf16> -> tile<64x128xf16>
    %5 = mmaf %tile_35, %4, %iterArg0 : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>
    continue %5 : tile<128x128xf32>
  }
  %pview_33 = make_partition_view %tview_21 : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview_33[%blockId_x, %blockId_y_28] token = %0 : partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<128x128xf32>, token
  %2 = addf %for, %tile  : tile<128x128xf32>
  %pview_34 = make_partition_view %tview_26 : partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>
  %3 = store_view_tko weak %2, %pview_34[%blockId_x, %blockId_y_28] token = %0 : tile<128x128xf32>, partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
