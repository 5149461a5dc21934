entry @k(%arg0: tile<ptr<f16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<ptr<f32>>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<ptr<f16>>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<i32>, %arg15: tile<i32>, %arg16: tile<f32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f16>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<f32>>
  %assume_1 = assume div_by<16>, %arg8 : tile<ptr<f32>>
  %assume_2 = assume div_by<16>, %arg11 : tile<ptr<f16>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %cst_1_i32_4 = constant <i32: 1> : tile<i32>
  %cst_1_i32_5 = constant <i32: 1> : tile<i32>
  %assume_6 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_7 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_8 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_6, %assume_7], strides = [%assume_8, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %assume_9 = assume bounded<0, ?>, %arg6 : tile<i32>
  %tview_10 = make_tensor_view %assume_0, shape = [%assume_9], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_11 = assume bounded<0, ?>, %arg9 : tile<i32>
  %tview_12 = make_tensor_view %assume_1, shape = [%assume_11], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_13 = assume bounded<0, ?>, %arg12 : tile<i32>
  %assume_14 = assume bounded<0, ?>, %arg13 : tile<i32>
  %assume_15 = assume bounded<0, ?>, %arg14 : tile<i32>
  %tview_16 = make_tensor_view %assume_2, shape = [%assume_13, %assume_14], strides = [%assume_15, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(8x64), tensor_view<?x?xf16, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x, %cst_0_i32] token = %0 : partition_view<tile=(8x64), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<8x64xf16>, token
  %1 = ftof %tile  : tile<8x64xf16> -> tile<8x64xf32>
  %reduce = reduce %1 dim=1 identities=[0.000000e+00 : f32] : tile<8x64xf32> -> tile<8xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %12 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
    yield %12 : tile<f32>
  }
  %reshape = reshape %reduce : tile<8xf32> -> tile<8x1xf32>
  %cst_64_f32 = constant <f32: 6.400000e+01> : tile<f32>
  %reshape_17 = reshape %cst_64_f32 : tile<f32> -> tile<1x1xf32>
  %bcast = broadcast %reshape_17 : tile<1x1xf32> -> tile<8x1xf32>
  %2 = divf %reshape, %bcast  : tile<8x1xf32>
  %bcast_18 = broadcast %2 : tile<8x1xf32> -> tile<8x64xf32>
  %3 = subf %1, %bcast_18  : tile<8x64xf32>
  %4 = mulf %3, %3  : tile<8x64xf32>
  %reduce_19 = reduce %4 dim=1 identities=[0.000000e+00 : f32] : tile<8x64xf32> -> tile<8xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %12 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
    yield %12 : tile<f32>
  }
  %reshape_20 = reshape %reduce_19 : tile<8xf32> -> tile<8x1xf32>
  %cst_64_f32_21 = constant <f32: 6.400000e+01> : tile<f32>
  %reshape_22 = reshape %cst_64_f32_21 : tile<f32> -> tile<1x1xf32>
  %bcast_23 = broadcast %reshape_22 : tile<1x1xf32> -> tile<8x1xf32>
  %5 = divf %reshape_20, %bcast_23  : tile<8x1xf32>
  %cst_0_i32_24 = constant <i32: 0> : tile<i32>
  %pview_25 = make_partition_view %tview_10 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %tile_26, %result_token_27 = load_view_tko weak %pview_25[%cst_0_i32_24] token = %0 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %cst_0_i32_28 = constant <i32: 0> : tile<i32>
  %pview_29 = make_partition_view %tview_12 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %tile_30, %result_token_31 = load_view_tko weak %pview_29[%cst_0_i32_28] token = %0 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %cst_0_i32_32 = constant <i32: 0> : tile<i32>
  %reshape_33 = reshape %arg16 : tile<f32> -> tile<1x1xf32>
  %bcast_34 = broadcast %reshape_33 : tile<1x1xf32> -> tile<8x1xf32>
  %6 = addf %5, %bcast_34  : tile<8x1xf32>
  %7 = rsqrt %6 : tile<8x1xf32>
  %bcast_35 = broadcast %7 : tile<8x1xf32> -> tile<8x64xf32>
  %8 = mulf %3, %bcast_35  : tile<8x64xf32>
  %reshape_36 = reshape %tile_26 : tile<64xf32> -> tile<1x64xf32>
  %bcast_37 = broadcast %reshape_36 : tile<1x64xf32> -> tile<8x64xf32>
  %reshape_38 = reshape %tile_30 : tile<64xf32> -> tile<1x64xf32>
  %bcast_39 = broadcast %reshape_38 : tile<1x64xf32> -> tile<8x64xf32>
  %9 = fma %8, %bcast_37, %bcast_39  : tile<8x64xf32>
  %10 = ftof %9  : tile<8x64xf32> -> tile<8x64xf16>
  %pview_40 = make_partition_view %tview_16 : partition_view<tile=(8x64), tensor_view<?x?xf16, strides=[?,1]>>
  %11 = store_view_tko weak %10, %pview_40[%blockId_x, %cst_0_i32_32] token = %0 : tile<8x64xf16>, partition_view<tile=(8x64), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> token
  return
}
