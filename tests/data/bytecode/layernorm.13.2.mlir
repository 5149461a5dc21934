entry @layernorm(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<ptr<f32>>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<ptr<f32>>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<i32>, %arg15: tile<i32>, %arg16: tile<f32>) optimization_hints=<sm_80 = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<4>, %arg3 : tile<i32>
  %assume_1 = assume div_by<16>, %arg5 : tile<ptr<f32>>
  %assume_2 = assume div_by<16>, %arg8 : tile<ptr<f32>>
  %assume_3 = assume div_by<16>, %arg11 : tile<ptr<f32>>
  %assume_4 = assume div_by<4>, %arg14 : tile<i32>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_5 = constant <i32: 1> : tile<i32>
  %cst_1_i32_6 = constant <i32: 1> : tile<i32>
  %cst_1_i32_7 = constant <i32: 1> : tile<i32>
  %assume_8 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_9 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_assume = assume bounded<0, ?>, %assume_0 : tile<i32>
  %assume_assume_assume = assume div_by<4>, %assume_assume : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_8, %assume_9], strides = [%assume_assume_assume, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_10 = assume bounded<0, ?>, %arg6 : tile<i32>
  %tview_11 = make_tensor_view %assume_1, shape = [%assume_10], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_12 = assume bounded<0, ?>, %arg9 : tile<i32>
  %tview_13 = make_tensor_view %assume_2, shape = [%assume_12], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_14 = assume bounded<0, ?>, %arg12 : tile<i32>
  %assume_15 = assume bounded<0, ?>, %arg13 : tile<i32>
  %assume_assume_16 = assume bounded<0, ?>, %assume_4 : tile<i32>
  %assume_assume_assume_17 = assume div_by<4>, %assume_assume_16 : tile<i32>
  %tview_18 = make_tensor_view %assume_3, shape = [%assume_14, %assume_15], strides = [%assume_assume_assume_17, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>
  %1:2 = get_index_space_shape %pview : partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>> -> tile<i32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<1x1024xf32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_1_i32_19 = constant <i32: 1> : tile<i32>
  %for = for %loopIdx in (%cst_0_i32 to %1#1, step %cst_1_i32_19) : tile<i32> iter_values(%iterArg0 = %cst_0_f32) -> (tile<1x1024xf32>) {
    %pview_38 = make_partition_view %tview : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
    %tile, %result_token = load_view_tko weak %pview_38[%blockId_x, %loopIdx] token = %0 : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x1024xf32>, token
    %9 = addf %iterArg0, %tile  : tile<1x1024xf32>
    continue %9 : tile<1x1024xf32>
  }
  %reduce = reduce %for dim=1 identities=[0.000000e+00 : f32] : tile<1x1024xf32> -> tile<1xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %9 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
    yield %9 : tile<f32>
  }
  %reshape = reshape %reduce : tile<1xf32> -> tile<1x1xf32>
  %2 = itof %assume_9 signed  : tile<i32> -> tile<f32>
  %reshape_20 = reshape %2 : tile<f32> -> tile<1x1xf32>
  %3 = divf %reshape, %reshape_20  : tile<1x1xf32>
  %cst_0_f32_21 = constant <f32: 0.000000e+00> : tile<1x1024xf32>
  %cst_0_i32_22 = constant <i32: 0> : tile<i32>
  %cst_1_i32_23 = constant <i32: 1> : tile<i32>
  %cst_1024_i32 = constant <i32: 1024> : tile<i32>
  %4 = iota : tile<1024xi32>
  %reshape_24 = reshape %assume_9 : tile<i32> -> tile<1xi32>
  %bcast = broadcast %reshape_24 : tile<1xi32> -> tile<1024xi32>
  %bcast_25 = broadcast %3 : tile<1x1xf32> -> tile<1x1024xf32>
  %cst_0_f32_26 = constant <f32: 0.000000e+00> : tile<f32>
  %reshape_27 = reshape %cst_0_f32_26 : tile<f32> -> tile<1x1xf32>
  %bcast_28 = broadcast %reshape_27 : tile<1x1xf32> -> tile<1x1024xf32>
  %for_29 = for %loopIdx in (%cst_0_i32_22 to %1#1, step %cst_1_i32_23) : tile<i32> iter_values(%iterArg0 = %cst_0_f32_21) -> (tile<1x1024xf32>) {
    %pview_38 = make_partition_view %tview : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
    %tile, %result_token = load_view_tko weak %pview_38[%blockId_x, %loopIdx] token = %0 : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x1024xf32>, token
    %9 = muli %loopIdx, %cst_1024_i32 : tile<i32>
    %reshape_39 = reshape %9 : tile<i32> -> tile<1xi32>
    %bcast_40 = broadcast %reshape_39 : tile<1xi32> -> tile<1024xi32>
    %10 = addi %bcast_40, %4 : tile<1024xi32>
    %11 = cmpi less_than %10, %bcast, signed : tile<1024xi32> -> tile<1024xi1>
    %12 = subf %tile, %bcast_25  : tile<1x1024xf32>
    %reshape_41 = reshape %11 : tile<1024xi1> -> tile<1x1024xi1>
    %13 = select %reshape_41, %12, %bcast_28 : tile<1x1024xi1>, tile<1x1024xf32>
    %14 = fma %13, %13, %iterArg0  : tile<1x1024xf32>
    continue %14 : tile<1x1024xf32>
  }
  %reduce_30 = reduce %for_29 dim=1 identities=[0.000000e+00 : f32] : tile<1x1024xf32> -> tile<1xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %9 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
    yield %9 : tile<f32>
  }
  %reshape_31 = reshape %reduce_30 : tile<1xf32> -> tile<1x1xf32>
  %5 = itof %assume_9 signed  : tile<i32> -> tile<f32>
  %reshape_32 = reshape %5 : tile<f32> -> tile<1x1xf32>
  %6 = divf %reshape_31, %reshape_32  : tile<1x1xf32>
  %reshape_33 = reshape %arg16 : tile<f32> -> tile<1x1xf32>
  %7 = addf %6, %reshape_33  : tile<1x1xf32>
  %8 = rsqrt %7 : tile<1x1xf32>
  %cst_0_i32_34 = constant <i32: 0> : tile<i32>
  %cst_1_i32_35 = constant <i32: 1> : tile<i32>
  %bcast_36 = broadcast %3 : tile<1x1xf32> -> tile<1x1024xf32>
  %bcast_37 = broadcast %8 : tile<1x1xf32> -> tile<1x1024xf32>
  for %loopIdx in (%cst_0_i32_34 to %1#1, step %cst_1_i32_35) : tile<i32> {
    %pview_38 = make_partition_view %tview : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
    %tile, %result_token = load_view_tko weak %pview_38[%blockId_x, %loopIdx] token = %0 : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x1024xf32>, token
    %pview_39 = make_partition_view %tview_11 : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
    %tile_40, %result_token_41 = load_view_tko weak %pview_39[%loopIdx] token = %0 : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
    %pview_42 = make_partition_view %tview_13 : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
    %tile_43, %result_token_44 = load_view_tko weak %pview_42[%loopIdx] token = %0 : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
    %9 = subf %tile, %bcast_36  : tile<1x1024xf32>
    %10 = mulf %9, %bcast_37  : tile<1x1024xf32>
    %reshape_45 = reshape %tile_40 : tile<1024xf32> -> tile<1x1024xf32>
    %reshape_46 = reshape %tile_43 : tile<1024xf32> -> tile<1x1024xf32>
    %11 = fma %10, %reshape_45, %reshape_46  : tile<1x1024xf32>
    %pview_47 = make_partition_view %tview_18 : partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>
    %12 = store_view_tko weak %11, %pview_47[%blockId_x, %loopIdx] token = %0 : tile<1x1024xf32>, partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  }
  return
}
