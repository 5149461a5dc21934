entry @gemm_negated(%arg0: tile<ptr<f16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f16>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<i32>, %arg10: tile<ptr<f16>>, %arg11: tile<i32>, %arg12: tile<i32>, %arg13: tile<ptr<f32>>, %arg14: tile<i32>, %arg15: tile<i32>, %arg16: tile<i32>, %arg17: tile<i32>) optimization_hints=<sm_80 = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f16>>
  %assume_0 = assume div_by<8>, %arg3 : tile<i32>
  %assume_1 = assume div_by<16>, %arg5 : tile<ptr<f16>>
  %assume_2 = assume div_by<8>, %arg8 : tile<i32>
  %assume_3 = assume div_by<16>, %arg10 : tile<ptr<f16>>
  %assume_4 = assume div_by<16>, %arg13 : tile<ptr<f32>>
  %assume_5 = assume div_by<4>, %arg16 : tile<i32>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_6 = constant <i32: 1> : tile<i32>
  %cst_1_i32_7 = constant <i32: 1> : tile<i32>
  %cst_1_i32_8 = constant <i32: 1> : tile<i32>
  %assume_9 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_10 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_assume = assume bounded<0, ?>, %assume_0 : tile<i32>
  %assume_assume_assume = assume div_by<8>, %assume_assume : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_9, %assume_10], strides = [%assume_assume_assume, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %assume_11 = assume bounded<0, ?>, %arg6 : tile<i32>
  %assume_12 = assume bounded<0, ?>, %arg7 : tile<i32>
  %assume_assume_13 = assume bounded<0, ?>, %assume_2 : tile<i32>
  %assume_assume_assume_14 = assume div_by<8>, %assume_assume_13 : tile<i32>
  %tview_15 = make_tensor_view %assume_1, shape = [%assume_11, %assume_12], strides = [%assume_assume_assume_14, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %assume_16 = assume bounded<0, ?>, %arg11 : tile<i32>
  %tview_17 = make_tensor_view %assume_3, shape = [%assume_16], strides = [1] : tile<i32> -> tensor_view<?xf16, strides=[1]>
  %assume_18 = assume bounded<0, ?>, %arg14 : tile<i32>
  %assume_19 = assume bounded<0, ?>, %arg15 : tile<i32>
  %assume_assume_20 = assume bounded<0, ?>, %assume_5 : tile<i32>
  %assume_assume_assume_21 = assume div_by<4>, %assume_assume_20 : tile<i32>
  %tview_22 = make_tensor_view %assume_4, shape = [%assume_18, %assume_19], strides = [%assume_assume_assume_21, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %blockId_x_23, %blockId_y_24, %blockId_z_25 = get_tile_block_id : tile<i32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<128x128xf32>
  %pview = make_partition_view %tview : partition_view<tile=(128x64), tensor_view<?x?xf16, strides=[?,1]>>
  %1:2 = get_index_space_shape %pview : partition_view<tile=(128x64), tensor_view<?x?xf16, strides=[?,1]>> -> tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_1_i32_26 = constant <i32: 1> : tile<i32>
  %for = for %loopIdx in (%cst_0_i32 to %1#1, step %cst_1_i32_26) : tile<i32> iter_values(%iterArg0 = %cst_0_f32) -> (tile<128x128xf32>) {
    %pview_28 = make_partition_view %tview : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
    %tile, %result_token = load_view_tko weak %pview_28[%blockId_x, %loopIdx] token = %0 : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<128x64xf16>, token
    %pview_29 = make_partition_view %tview_15 : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
    %tile_30, %result_token_31 = load_view_tko weak %pview_29[%blockId_y_24, %loopIdx] token = %0 : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<128x64xf16>, token
    %pview_32 = make_partition_view %tview_17 : partition_view<tile=(64), padding_value = zero, tensor_view<?xf16, strides=[1]>>
    %tile_33, %result_token_34 = load_view_tko weak %pview_32[%loopIdx] token = %0 : partition_view<tile=(64), padding_value = zero, tensor_view<?xf16, strides=[1]>>, tile<i32> -> tile<64xf16>, token
    %reshape = reshape %tile_33 : tile<64xf16> -> tile<1x64xf16>
    %bcast = broadcast %reshape : tile<1x64xf16> -> tile<128x64xf16>
    %3 = negf %bcast : tile<128x64xf16>
    %4 = mulf %tile, %3  : tile<128x64xf16>
    %5 = permute %tile_30 [1, 0] : tile<128x64xf16> -> tile<64x128xf16>
    %6 = mmaf %4, %5, %iterArg0 : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>
    continue %6 : tile<128x128xf32>
  }
  %pview_27 = make_partition_view %tview_22 : partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>
  %2 = store_view_tko weak %for, %pview_27[%blockId_x, %blockId_y_24] token = %0 : tile<128x128xf32>, partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
