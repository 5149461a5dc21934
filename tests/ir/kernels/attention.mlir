entry @k(%arg0: tile<ptr<f16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f16>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<i32>, %arg10: tile<ptr<f16>>, %arg11: tile<i32>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<i32>, %arg15: tile<ptr<f16>>, %arg16: tile<i32>, %arg17: tile<i32>, %arg18: tile<i32>, %arg19: tile<i32>, %arg20: tile<f32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f16>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<f16>>
  %assume_1 = assume div_by<16>, %arg10 : tile<ptr<f16>>
  %assume_2 = assume div_by<16>, %arg15 : tile<ptr<f16>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %cst_1_i32_4 = constant <i32: 1> : tile<i32>
  %cst_1_i32_5 = constant <i32: 1> : tile<i32>
  %assume_6 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_7 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_8 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_6, %assume_7], strides = [%assume_8, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %assume_9 = assume bounded<0, ?>, %arg6 : tile<i32>
  %assume_10 = assume bounded<0, ?>, %arg7 : tile<i32>
  %assume_11 = assume bounded<0, ?>, %arg8 : tile<i32>
  %tview_12 = make_tensor_view %assume_0, shape = [%assume_9, %assume_10], strides = [%assume_11, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %assume_13 = assume bounded<0, ?>, %arg11 : tile<i32>
  %assume_14 = assume bounded<0, ?>, %arg12 : tile<i32>
  %assume_15 = assume bounded<0, ?>, %arg13 : tile<i32>
  %tview_16 = make_tensor_view %assume_1, shape = [%assume_13, %assume_14], strides = [%assume_15, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %assume_17 = assume bounded<0, ?>, %arg16 : tile<i32>
  %assume_18 = assume bounded<0, ?>, %arg17 : tile<i32>
  %assume_19 = assume bounded<0, ?>, %arg18 : tile<i32>
  %tview_20 = make_tensor_view %assume_2, shape = [%assume_17, %assume_18], strides = [%assume_19, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(32x16), tensor_view<?x?xf16, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x, %cst_0_i32] token = %0 : partition_view<tile=(32x16), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<32x16xf16>, token
  %cst_f32 = constant <f32: 0xFF800000> : tile<32x1xf32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<32x1xf32>
  %cst_0_f32_21 = constant <f32: 0.000000e+00> : tile<32x16xf32>
  %pview_22 = make_partition_view %tview_12 : partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>>
  %1:2 = get_index_space_shape %pview_22 : partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>> -> tile<i32>
  %cst_0_i32_23 = constant <i32: 0> : tile<i32>
  %cst_1_i32_24 = constant <i32: 1> : tile<i32>
  %cst_0_i32_25 = constant <i32: 0> : tile<i32>
  %pview_26 = make_partition_view %tview_12 : partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>>
  %cst_0_f32_27 = constant <f32: 0.000000e+00> : tile<32x16xf32>
  %reshape = reshape %arg20 : tile<f32> -> tile<1x1xf32>
  %bcast = broadcast %reshape : tile<1x1xf32> -> tile<32x16xf32>
  %cst_0_i32_28 = constant <i32: 0> : tile<i32>
  %pview_29 = make_partition_view %tview_16 : partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>>
  %for:3 = for %loopIdx in (%cst_0_i32_23 to %1#0, step %cst_1_i32_24) : tile<i32> iter_values(%iterArg0 = %cst_0_f32_21, %iterArg1 = %cst_f32, %iterArg2 = %cst_0_f32) -> (tile<32x16xf32>, tile<32x1xf32>, tile<32x1xf32>) {
    %tile_33, %result_token_34 = load_view_tko weak %pview_26[%loopIdx, %cst_0_i32_25] token = %0 : partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<16x16xf16>, token
    %5 = permute %tile_33 [1, 0] : tile<16x16xf16> -> tile<16x16xf16>
    %6 = mmaf %tile, %5, %cst_0_f32_27 : tile<32x16xf16>, tile<16x16xf16>, tile<32x16xf32>
    %7 = mulf %6, %bcast  : tile<32x16xf32>
    %reduce = reduce %7 dim=1 identities=[0xFF800000 : f32] : tile<32x16xf32> -> tile<32xf32> 
    (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
      %17 = maxf %reduce_lhs, %reduce_rhs : tile<f32>
      yield %17 : tile<f32>
    }
    %reshape_35 = reshape %reduce : tile<32xf32> -> tile<32x1xf32>
    %8 = maxf %iterArg1, %reshape_35 : tile<32x1xf32>
    %bcast_36 = broadcast %8 : tile<32x1xf32> -> tile<32x16xf32>
    %9 = subf %7, %bcast_36  : tile<32x16xf32>
    %10 = exp2 %9 flush_to_zero : tile<32x16xf32>
    %11 = subf %iterArg1, %8  : tile<32x1xf32>
    %12 = exp2 %11 flush_to_zero : tile<32x1xf32>
    %reduce_37 = reduce %10 dim=1 identities=[0.000000e+00 : f32] : tile<32x16xf32> -> tile<32xf32> 
    (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
      %17 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
      yield %17 : tile<f32>
    }
    %reshape_38 = reshape %reduce_37 : tile<32xf32> -> tile<32x1xf32>
    %13 = fma %iterArg2, %12, %reshape_38  : tile<32x1xf32>
    %14 = ftof %10  : tile<32x16xf32> -> tile<32x16xf16>
    %tile_39, %result_token_40 = load_view_tko weak %pview_29[%loopIdx, %cst_0_i32_28] token = %0 : partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<16x16xf16>, token
    %bcast_41 = broadcast %12 : tile<32x1xf32> -> tile<32x16xf32>
    %15 = mulf %iterArg0, %bcast_41  : tile<32x16xf32>
    %16 = mmaf %14, %tile_39, %15 : tile<32x16xf16>, tile<16x16xf16>, tile<32x16xf32>
    continue %16, %8, %13 : tile<32x16xf32>, tile<32x1xf32>, tile<32x1xf32>
  }
  %cst_0_i32_30 = constant <i32: 0> : tile<i32>
  %bcast_31 = broadcast %for#2 : tile<32x1xf32> -> tile<32x16xf32>
  %2 = divf %for#0, %bcast_31 rounding<approx> : tile<32x16xf32>
  %3 = ftof %2  : tile<32x16xf32> -> tile<32x16xf16>
  %pview_32 = make_partition_view %tview_20 : partition_view<tile=(32x16), tensor_view<?x?xf16, strides=[?,1]>>
  %4 = store_view_tko weak %3, %pview_32[%blockId_x, %cst_0_i32_30] token = %0 : tile<32x16xf16>, partition_view<tile=(32x16), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> token
  return
}
