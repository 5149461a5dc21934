entry @k(%arg0: tile<ptr<bf16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<bf16>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<ptr<bf16>>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<i32>, %arg12: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<bf16>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<bf16>>
  %assume_1 = assume div_by<16>, %arg8 : tile<ptr<bf16>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_5 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_6 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_4, %assume_5], strides = [%assume_6, 1] : tile<i32> -> tensor_view<?x?xbf16, strides=[?,1]>
  %assume_7 = assume bounded<0, ?>, %arg6 : tile<i32>
  %tview_8 = make_tensor_view %assume_0, shape = [%assume_7], strides = [1] : tile<i32> -> tensor_view<?xbf16, strides=[1]>
  %assume_9 = assume bounded<0, ?>, %arg9 : tile<i32>
  %assume_10 = assume bounded<0, ?>, %arg10 : tile<i32>
  %assume_11 = assume bounded<0, ?>, %arg11 : tile<i32>
  %tview_12 = make_tensor_view %assume_1, shape = [%assume_9, %assume_10], strides = [%assume_11, 1] : tile<i32> -> tensor_view<?x?xbf16, strides=[?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(8x64), tensor_view<?x?xbf16, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x, %cst_0_i32] token = %0 : partition_view<tile=(8x64), tensor_view<?x?xbf16, strides=[?,1]>>, tile<i32> -> tile<8x64xbf16>, token
  %1 = ftof %tile  : tile<8x64xbf16> -> tile<8x64xf32>
  %2 = mulf %1, %1  : tile<8x64xf32>
  %reduce = reduce %2 dim=1 identities=[0.000000e+00 : f32] : tile<8x64xf32> -> tile<8xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %10 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
    yield %10 : tile<f32>
  }
  %reshape = reshape %reduce : tile<8xf32> -> tile<8x1xf32>
  %cst_64_f32 = constant <f32: 6.400000e+01> : tile<f32>
  %reshape_13 = reshape %cst_64_f32 : tile<f32> -> tile<1x1xf32>
  %bcast = broadcast %reshape_13 : tile<1x1xf32> -> tile<8x1xf32>
  %3 = divf %reshape, %bcast  : tile<8x1xf32>
  %cst_f32 = constant <f32: 9.99999997E-7> : tile<f32>
  %reshape_14 = reshape %cst_f32 : tile<f32> -> tile<1x1xf32>
  %bcast_15 = broadcast %reshape_14 : tile<1x1xf32> -> tile<8x1xf32>
  %4 = addf %3, %bcast_15  : tile<8x1xf32>
  %5 = rsqrt %4 : tile<8x1xf32>
  %cst_0_i32_16 = constant <i32: 0> : tile<i32>
  %bcast_17 = broadcast %5 : tile<8x1xf32> -> tile<8x64xf32>
  %6 = mulf %1, %bcast_17  : tile<8x64xf32>
  %7 = ftof %6  : tile<8x64xf32> -> tile<8x64xbf16>
  %cst_0_i32_18 = constant <i32: 0> : tile<i32>
  %pview_19 = make_partition_view %tview_8 : partition_view<tile=(64), tensor_view<?xbf16, strides=[1]>>
  %tile_20, %result_token_21 = load_view_tko weak %pview_19[%cst_0_i32_18] token = %0 : partition_view<tile=(64), tensor_view<?xbf16, strides=[1]>>, tile<i32> -> tile<64xbf16>, token
  %reshape_22 = reshape %tile_20 : tile<64xbf16> -> tile<1x64xbf16>
  %bcast_23 = broadcast %reshape_22 : tile<1x64xbf16> -> tile<8x64xbf16>
  %8 = mulf %7, %bcast_23  : tile<8x64xbf16>
  %pview_24 = make_partition_view %tview_12 : partition_view<tile=(8x64), tensor_view<?x?xbf16, strides=[?,1]>>
  %9 = store_view_tko weak %8, %pview_24[%blockId_x, %cst_0_i32_16] token = %0 : tile<8x64xbf16>, partition_view<tile=(8x64), tensor_view<?x?xbf16, strides=[?,1]>>, tile<i32> -> token
  return
}
