entry @flash_attention(%arg0: tile<ptr<f16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<i32>, %arg7: tile<ptr<f16>>, %arg8: tile<i32>, %arg9: tile<i32>, %arg10: tile<i32>, %arg11: tile<i32>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<ptr<f16>>, %arg15: tile<i32>, %arg16: tile<i32>, %arg17: tile<i32>, %arg18: tile<i32>, %arg19: tile<i32>, %arg20: tile<i32>, %arg21: tile<ptr<f16>>, %arg22: tile<i32>, %arg23: tile<i32>, %arg24: tile<i32>, %arg25: tile<i32>, %arg26: tile<i32>, %arg27: tile<i32>, %arg28: tile<f32>) optimization_hints=<sm_80 = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f16>>
  %assume_0 = assume div_by<8>, %arg4 : tile<i32>
  %assume_1 = assume div_by<8>, %arg5 : tile<i32>
  %assume_2 = assume div_by<16>, %arg7 : tile<ptr<f16>>
  %assume_3 = assume div_by<8>, %arg11 : tile<i32>
  %assume_4 = assume div_by<8>, %arg12 : tile<i32>
  %assume_5 = assume div_by<16>, %arg14 : tile<ptr<f16>>
  %assume_6 = assume div_by<8>, %arg18 : tile<i32>
  %assume_7 = assume div_by<8>, %arg19 : tile<i32>
  %assume_8 = assume div_by<16>, %arg21 : tile<ptr<f16>>
  %assume_9 = assume div_by<8>, %arg25 : tile<i32>
  %assume_10 = assume div_by<8>, %arg26 : tile<i32>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_11 = constant <i32: 1> : tile<i32>
  %cst_1_i32_12 = constant <i32: 1> : tile<i32>
  %cst_1_i32_13 = constant <i32: 1> : tile<i32>
  %assume_14 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_15 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_16 = assume bounded<0, ?>, %arg3 : tile<i32>
  %assume_assume = assume bounded<0, ?>, %assume_0 : tile<i32>
  %assume_assume_assume = assume div_by<8>, %assume_assume : tile<i32>
  %assume_assume_17 = assume bounded<0, ?>, %assume_1 : tile<i32>
  %assume_assume_assume_18 = assume div_by<8>, %assume_assume_17 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_14, %assume_15, %assume_16], strides = [%assume_assume_assume, %assume_assume_assume_18, 1] : tile<i32> -> tensor_view<?x?x?xf16, strides=[?,?,1]>
  %assume_19 = assume bounded<0, ?>, %arg8 : tile<i32>
  %assume_20 = assume bounded<0, ?>, %arg9 : tile<i32>
  %assume_21 = assume bounded<0, ?>, %arg10 : tile<i32>
  %assume_assume_22 = assume bounded<0, ?>, %assume_3 : tile<i32>
  %assume_assume_assume_23 = assume div_by<8>, %assume_assume_22 : tile<i32>
  %assume_assume_24 = assume bounded<0, ?>, %assume_4 : tile<i32>
  %assume_assume_assume_25 = assume div_by<8>, %assume_assume_24 : tile<i32>
  %tview_26 = make_tensor_view %assume_2, shape = [%assume_19, %assume_20, %assume_21], strides = [%assume_assume_assume_23, %assume_assume_assume_25, 1] : tile<i32> -> tensor_view<?x?x?xf16, strides=[?,?,1]>
  %assume_27 = assume bounded<0, ?>, %arg15 : tile<i32>
  %assume_28 = assume bounded<0, ?>, %arg16 : tile<i32>
  %assume_29 = assume bounded<0, ?>, %arg17 : tile<i32>
  %assume_assume_30 = assume bounded<0, ?>, %assume_6 : tile<i32>
  %assume_assume_assume_31 = assume div_by<8>, %assume_assume_30 : tile<i32>
  %assume_assume_32 = assume bounded<0, ?>, %assume_7 : tile<i32>
  %assume_assume_assume_33 = assume div_by<8>, %assume_assume_32 : tile<i32>
  %tview_34 = make_tensor_view %assume_5, shape = [%assume_27, %assume_28, %assume_29], strides = [%assume_assume_assume_31, %assume_assume_assume_33, 1] : tile<i32> -> tensor_view<?x?x?xf16, strides=[?,?,1]>
  %assume_35 = assume bounded<0, ?>, %arg22 : tile<i32>
  %assume_36 = assume bounded<0, ?>, %arg23 : tile<i32>
  %assume_37 = assume bounded<0, ?>, %arg24 : tile<i32>
  %assume_assume_38 = assume bounded<0, ?>, %assume_9 : tile<i32>
  %assume_assume_assume_39 = assume div_by<8>, %assume_assume_38 : tile<i32>
  %assume_assume_40 = assume bounded<0, ?>, %assume_10 : tile<i32>
  %assume_assume_assume_41 = assume div_by<8>, %assume_assume_40 : tile<i32>
  %tview_42 = make_tensor_view %assume_8, shape = [%assume_35, %assume_36, %assume_37], strides = [%assume_assume_assume_39, %assume_assume_assume_41, 1] : tile<i32> -> tensor_view<?x?x?xf16, strides=[?,?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %blockId_x_43, %blockId_y_44, %blockId_z_45 = get_tile_block_id : tile<i32>
  %cst_f32 = constant <f32: 1.44269502> : tile<f32>
  %1 = mulf %arg28, %cst_f32  : tile<f32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(1x128x64), padding_value = zero, tensor_view<?x?x?xf16, strides=[?,?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_y_44, %blockId_x, %cst_0_i32] token = %0 : partition_view<tile=(1x128x64), padding_value = zero, tensor_view<?x?x?xf16, strides=[?,?,1]>>, tile<i32> -> tile<1x128x64xf16>, token
  %reshape = reshape %tile : tile<1x128x64xf16> -> tile<128x64xf16>
  %cst_f32_46 = constant <f32: 0xFF800000> : tile<128x1xf32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<128x1xf32>
  %cst_0_f32_47 = constant <f32: 0.000000e+00> : tile<128x64xf32>
  %cst_64_i32 = constant <i32: 64> : tile<i32>
  %2 = divi %assume_20, %cst_64_i32 signed rounding<positive_inf> : tile<i32>
  %cst_0_i32_48 = constant <i32: 0> : tile<i32>
  %cst_1_i32_49 = constant <i32: 1> : tile<i32>
  %cst_0_i32_50 = constant <i32: 0> : tile<i32>
  %cst_0_f32_51 = constant <f32: 0.000000e+00> : tile<128x64xf32>
  %cst_64_i32_52 = constant <i32: 64> : tile<i32>
  %3 = iota : tile<64xi32>
  %reshape_53 = reshape %3 : tile<64xi32> -> tile<1x64xi32>
  %reshape_54 = reshape %assume_20 : tile<i32> -> tile<1x1xi32>
  %bcast = broadcast %reshape_54 : tile<1x1xi32> -> tile<1x64xi32>
  %cst_f32_55 = constant <f32: 0xFF800000> : tile<f32>
  %reshape_56 = reshape %cst_f32_55 : tile<f32> -> tile<1x1xf32>
  %bcast_57 = broadcast %reshape_56 : tile<1x1xf32> -> tile<128x64xf32>
  %reshape_58 = reshape %1 : tile<f32> -> tile<1x1xf32>
  %bcast_59 = broadcast %reshape_58 : tile<1x1xf32> -> tile<128x1xf32>
  %reshape_60 = reshape %1 : tile<f32> -> tile<1x1xf32>
  %bcast_61 = broadcast %reshape_60 : tile<1x1xf32> -> tile<128x64xf32>
  %cst_0_i32_62 = constant <i32: 0> : tile<i32>
  %for:3 = for %loopIdx in (%cst_0_i32_48 to %2, step %cst_1_i32_49) : tile<i32> iter_values(%iterArg0 = %cst_0_f32_47, %iterArg1 = %cst_f32_46, %iterArg2 = %cst_0_f32) -> (tile<128x64xf32>, tile<128x1xf32>, tile<128x1xf32>) {
    %pview_69 = make_partition_view %tview_26 : partition_view<tile=(1x64x64), padding_value = zero, tensor_view<?x?x?xf16, strides=[?,?,1]>>
    %tile_70, %result_token_71 = load_view_tko weak %pview_69[%blockId_y_44, %loopIdx, %cst_0_i32_50] token = %0 : partition_view<tile=(1x64x64), padding_value = zero, tensor_view<?x?x?xf16, strides=[?,?,1]>>, tile<i32> -> tile<1x64x64xf16>, token
    %reshape_72 = reshape %tile_70 : tile<1x64x64xf16> -> tile<64x64xf16>
    %8 = permute %reshape_72 [1, 0] : tile<64x64xf16> -> tile<64x64xf16>
    %9 = mmaf %reshape, %8, %cst_0_f32_51 : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    %10 = muli %loopIdx, %cst_64_i32_52 : tile<i32>
    %reshape_73 = reshape %10 : tile<i32> -> tile<1x1xi32>
    %bcast_74 = broadcast %reshape_73 : tile<1x1xi32> -> tile<1x64xi32>
    %11 = addi %bcast_74, %reshape_53 : tile<1x64xi32>
    %12 = cmpi less_than %11, %bcast, signed : tile<1x64xi32> -> tile<1x64xi1>
    %bcast_75 = broadcast %12 : tile<1x64xi1> -> tile<128x64xi1>
    %13 = select %bcast_75, %9, %bcast_57 : tile<128x64xi1>, tile<128x64xf32>
    %reduce = reduce %13 dim=1 identities=[0xFF800000 : f32] : tile<128x64xf32> -> tile<128xf32> 
    (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
      %25 = maxf %reduce_lhs, %reduce_rhs : tile<f32>
      yield %25 : tile<f32>
    }
    %reshape_76 = reshape %reduce : tile<128xf32> -> tile<128x1xf32>
    %14 = mulf %reshape_76, %bcast_59  : tile<128x1xf32>
    %15 = maxf %iterArg1, %14 : tile<128x1xf32>
    %bcast_77 = broadcast %15 : tile<128x1xf32> -> tile<128x64xf32>
    %16 = negf %bcast_77 : tile<128x64xf32>
    %17 = fma %13, %bcast_61, %16  : tile<128x64xf32>
    %18 = exp2 %17 : tile<128x64xf32>
    %19 = subf %iterArg1, %15  : tile<128x1xf32>
    %20 = exp2 %19 : tile<128x1xf32>
    %reduce_78 = reduce %18 dim=1 identities=[0.000000e+00 : f32] : tile<128x64xf32> -> tile<128xf32> 
    (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
      %25 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
      yield %25 : tile<f32>
    }
    %reshape_79 = reshape %reduce_78 : tile<128xf32> -> tile<128x1xf32>
    %21 = fma %iterArg2, %20, %reshape_79  : tile<128x1xf32>
    %pview_80 = make_partition_view %tview_34 : partition_view<tile=(1x64x64), padding_value = zero, tensor_view<?x?x?xf16, strides=[?,?,1]>>
    %tile_81, %result_token_82 = load_view_tko weak %pview_80[%blockId_y_44, %loopIdx, %cst_0_i32_62] token = %0 : partition_view<tile=(1x64x64), padding_value = zero, tensor_view<?x?x?xf16, strides=[?,?,1]>>, tile<i32> -> tile<1x64x64xf16>, token
    %22 = ftof %18  : tile<128x64xf32> -> tile<128x64xf16>
    %reshape_83 = reshape %tile_81 : tile<1x64x64xf16> -> tile<64x64xf16>
    %bcast_84 = broadcast %20 : tile<128x1xf32> -> tile<128x64xf32>
    %23 = mulf %iterArg0, %bcast_84  : tile<128x64xf32>
    %24 = mmaf %22, %reshape_83, %23 : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    continue %24, %15, %21 : tile<128x64xf32>, tile<128x1xf32>, tile<128x1xf32>
  }
  %cst_1_f32 = constant <f32: 1.000000e+00> : tile<f32>
  %reshape_63 = reshape %cst_1_f32 : tile<f32> -> tile<1x1xf32>
  %bcast_64 = broadcast %reshape_63 : tile<1x1xf32> -> tile<128x1xf32>
  %4 = divf %bcast_64, %for#2  : tile<128x1xf32>
  %bcast_65 = broadcast %4 : tile<128x1xf32> -> tile<128x64xf32>
  %5 = mulf %for#0, %bcast_65  : tile<128x64xf32>
  %6 = ftof %5  : tile<128x64xf32> -> tile<128x64xf16>
  %cst_0_i32_66 = constant <i32: 0> : tile<i32>
  %reshape_67 = reshape %6 : tile<128x64xf16> -> tile<1x128x64xf16>
  %pview_68 = make_partition_view %tview_42 : partition_view<tile=(1x128x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>
  %7 = store_view_tko weak %reshape_67, %pview_68[%blockId_y_44, %blockId_x, %cst_0_i32_66] token = %0 : tile<1x128x64xf16>, partition_view<tile=(1x128x64), tensor_view<?x?x?xf16, strides=[?,?,1]>>, tile<i32> -> token
  return
}
