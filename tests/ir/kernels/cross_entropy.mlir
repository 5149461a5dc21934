entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<i32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<ptr<f32>>, %arg9: tile<i32>, %arg10: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<i32>>
  %assume_1 = assume div_by<16>, %arg8 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_5 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_6 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_4, %assume_5], strides = [%assume_6, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_7 = assume bounded<0, ?>, %arg6 : tile<i32>
  %tview_8 = make_tensor_view %assume_0, shape = [%assume_7], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_9 = assume bounded<0, ?>, %arg9 : tile<i32>
  %tview_10 = make_tensor_view %assume_1, shape = [%assume_9], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(8x64), tensor_view<?x?xf32, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x, %cst_0_i32] token = %0 : partition_view<tile=(8x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<8x64xf32>, token
  %pview_11 = make_partition_view %tview_8 : partition_view<tile=(8), tensor_view<?xi32, strides=[1]>>
  %tile_12, %result_token_13 = load_view_tko weak %pview_11[%blockId_x] token = %0 : partition_view<tile=(8), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<8xi32>, token
  %reduce = reduce %tile dim=1 identities=[0xFF800000 : f32] : tile<8x64xf32> -> tile<8xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %10 = maxf %reduce_lhs, %reduce_rhs : tile<f32>
    yield %10 : tile<f32>
  }
  %reshape = reshape %reduce : tile<8xf32> -> tile<8x1xf32>
  %bcast = broadcast %reshape : tile<8x1xf32> -> tile<8x64xf32>
  %1 = subf %tile, %bcast  : tile<8x64xf32>
  %2 = exp %1  : tile<8x64xf32>
  %reduce_14 = reduce %2 dim=1 identities=[0.000000e+00 : f32] : tile<8x64xf32> -> tile<8xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %10 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
    yield %10 : tile<f32>
  }
  %3 = log %reduce_14 : tile<8xf32>
  %reshape_15 = reshape %reshape : tile<8x1xf32> -> tile<8xf32>
  %4 = addf %3, %reshape_15  : tile<8xf32>
  %5 = iota : tile<64xi32>
  %reshape_16 = reshape %tile_12 : tile<8xi32> -> tile<8x1xi32>
  %reshape_17 = reshape %5 : tile<64xi32> -> tile<1x64xi32>
  %bcast_18 = broadcast %reshape_17 : tile<1x64xi32> -> tile<8x64xi32>
  %bcast_19 = broadcast %reshape_16 : tile<8x1xi32> -> tile<8x64xi32>
  %6 = cmpi equal %bcast_18, %bcast_19, signed : tile<8x64xi32> -> tile<8x64xi1>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<f32>
  %reshape_20 = reshape %cst_0_f32 : tile<f32> -> tile<1x1xf32>
  %bcast_21 = broadcast %reshape_20 : tile<1x1xf32> -> tile<8x64xf32>
  %7 = select %6, %tile, %bcast_21 : tile<8x64xi1>, tile<8x64xf32>
  %reduce_22 = reduce %7 dim=1 identities=[0.000000e+00 : f32] : tile<8x64xf32> -> tile<8xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %10 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
    yield %10 : tile<f32>
  }
  %8 = subf %4, %reduce_22  : tile<8xf32>
  %pview_23 = make_partition_view %tview_10 : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
  %9 = store_view_tko weak %8, %pview_23[%blockId_x] token = %0 : tile<8xf32>, partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
