entry @k(%arg0: tile<ptr<i64>>, %arg1: tile<i32>, %arg2: tile<ptr<i64>>, %arg3: tile<i32>, %arg4: tile<ptr<i64>>, %arg5: tile<i32>, %arg6: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_0 = constant <i32: 1> : tile<i32>
  %cst_1_i32_1 = constant <i32: 1> : tile<i32>
  %tview = make_tensor_view %arg0, shape = [%arg1, 5], strides = [5, 1] : tile<i32> -> tensor_view<?x5xi64, strides=[5,1]>
  %pview = make_partition_view %tview : partition_view<tile=(1x8), tensor_view<?x5xi64, strides=[5,1]>>
  %tview_2 = make_tensor_view %arg2, shape = [%arg3, 5], strides = [5, 1] : tile<i32> -> tensor_view<?x5xi64, strides=[5,1]>
  %pview_3 = make_partition_view %tview_2 : partition_view<tile=(1x8), tensor_view<?x5xi64, strides=[5,1]>>
  %tview_4 = make_tensor_view %arg4, shape = [%arg5, 5], strides = [5, 1] : tile<i32> -> tensor_view<?x5xi64, strides=[5,1]>
  %pview_5 = make_partition_view %tview_4 : partition_view<tile=(1x8), tensor_view<?x5xi64, strides=[5,1]>>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_1_i32_6 = constant <i32: 1> : tile<i32>
  %cst_0_i32_7 = constant <i32: 0> : tile<i32>
  %cst_0_i32_8 = constant <i32: 0> : tile<i32>
  %cst_0_i32_9 = constant <i32: 0> : tile<i32>
  %cst_0_i32_10 = constant <i32: 0> : tile<i32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<32x16xf32>
  %cst_0_i32_11 = constant <i32: 0> : tile<i32>
  %cst_0_i32_12 = constant <i32: 0> : tile<i32>
  %for = for %loopIdx in (%cst_0_i32 to %arg6, step %cst_1_i32_6) : tile<i32> iter_values(%iterArg0 = %0) -> (token) {
    %cst_0_i32_13 = constant <i32: 0> : tile<i32>
    %tile, %result_token = load_view_tko weak %pview[%loopIdx, %cst_0_i32_13] : partition_view<tile=(1x8), tensor_view<?x5xi64, strides=[5,1]>>, tile<i32> -> tile<1x8xi64>, token
    %cst_0_i32_14 = constant <i32: 0> : tile<i32>
    %1 = extract %tile[%cst_0_i32_13, %cst_0_i32_14] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape = reshape %1 : tile<1x1xi64> -> tile<i64>
    %cst_1_i32_15 = constant <i32: 1> : tile<i32>
    %2 = extract %tile[%cst_0_i32_13, %cst_1_i32_15] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_16 = reshape %2 : tile<1x1xi64> -> tile<i64>
    %cst_2_i32 = constant <i32: 2> : tile<i32>
    %3 = extract %tile[%cst_0_i32_13, %cst_2_i32] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_17 = reshape %3 : tile<1x1xi64> -> tile<i64>
    %cst_3_i32 = constant <i32: 3> : tile<i32>
    %4 = extract %tile[%cst_0_i32_13, %cst_3_i32] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_18 = reshape %4 : tile<1x1xi64> -> tile<i64>
    %cst_4_i32 = constant <i32: 4> : tile<i32>
    %5 = extract %tile[%cst_0_i32_13, %cst_4_i32] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_19 = reshape %5 : tile<1x1xi64> -> tile<i64>
    %6 = trunci %reshape_16 : tile<i64> -> tile<i32>
    %7 = trunci %reshape_17 : tile<i64> -> tile<i32>
    %8 = trunci %reshape_18 : tile<i64> -> tile<i32>
    %9 = trunci %reshape_19 : tile<i64> -> tile<i32>
    %10 = int_to_ptr %reshape : tile<i64> -> tile<ptr<f16>>
    %assume = assume div_by<16>, %10 : tile<ptr<f16>>
    %assume_20 = assume bounded<0, ?>, %6 : tile<i32>
    %assume_21 = assume bounded<0, ?>, %7 : tile<i32>
    %assume_22 = assume bounded<0, ?>, %8 : tile<i32>
    %tview_23 = make_tensor_view %assume, shape = [%assume_20, %assume_21], strides = [%assume_22, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %pview_24 = make_partition_view %tview_23 : partition_view<tile=(32x16), tensor_view<?x?xf16, strides=[?,1]>>
    %tile_25, %result_token_26 = load_view_tko weak %pview_24[%cst_0_i32_7, %cst_0_i32_8] token = %0 : partition_view<tile=(32x16), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<32x16xf16>, token
    %cst_0_i32_27 = constant <i32: 0> : tile<i32>
    %tile_28, %result_token_29 = load_view_tko weak %pview_3[%loopIdx, %cst_0_i32_27] : partition_view<tile=(1x8), tensor_view<?x5xi64, strides=[5,1]>>, tile<i32> -> tile<1x8xi64>, token
    %cst_0_i32_30 = constant <i32: 0> : tile<i32>
    %11 = extract %tile_28[%cst_0_i32_27, %cst_0_i32_30] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_31 = reshape %11 : tile<1x1xi64> -> tile<i64>
    %cst_1_i32_32 = constant <i32: 1> : tile<i32>
    %12 = extract %tile_28[%cst_0_i32_27, %cst_1_i32_32] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_33 = reshape %12 : tile<1x1xi64> -> tile<i64>
    %cst_2_i32_34 = constant <i32: 2> : tile<i32>
    %13 = extract %tile_28[%cst_0_i32_27, %cst_2_i32_34] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_35 = reshape %13 : tile<1x1xi64> -> tile<i64>
    %cst_3_i32_36 = constant <i32: 3> : tile<i32>
    %14 = extract %tile_28[%cst_0_i32_27, %cst_3_i32_36] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_37 = reshape %14 : tile<1x1xi64> -> tile<i64>
    %cst_4_i32_38 = constant <i32: 4> : tile<i32>
    %15 = extract %tile_28[%cst_0_i32_27, %cst_4_i32_38] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_39 = reshape %15 : tile<1x1xi64> -> tile<i64>
    %16 = trunci %reshape_33 : tile<i64> -> tile<i32>
    %17 = trunci %reshape_35 : tile<i64> -> tile<i32>
    %18 = trunci %reshape_37 : tile<i64> -> tile<i32>
    %19 = trunci %reshape_39 : tile<i64> -> tile<i32>
    %20 = int_to_ptr %reshape_31 : tile<i64> -> tile<ptr<f16>>
    %assume_40 = assume div_by<16>, %20 : tile<ptr<f16>>
    %assume_41 = assume bounded<0, ?>, %16 : tile<i32>
    %assume_42 = assume bounded<0, ?>, %17 : tile<i32>
    %assume_43 = assume bounded<0, ?>, %18 : tile<i32>
    %tview_44 = make_tensor_view %assume_40, shape = [%assume_41, %assume_42], strides = [%assume_43, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %pview_45 = make_partition_view %tview_44 : partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>>
    %tile_46, %result_token_47 = load_view_tko weak %pview_45[%cst_0_i32_9, %cst_0_i32_10] token = %0 : partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<16x16xf16>, token
    %21 = mmaf %tile_25, %tile_46, %cst_0_f32 : tile<32x16xf16>, tile<16x16xf16>, tile<32x16xf32>
    %cst_0_i32_48 = constant <i32: 0> : tile<i32>
    %tile_49, %result_token_50 = load_view_tko weak %pview_5[%loopIdx, %cst_0_i32_48] : partition_view<tile=(1x8), tensor_view<?x5xi64, strides=[5,1]>>, tile<i32> -> tile<1x8xi64>, token
    %cst_0_i32_51 = constant <i32: 0> : tile<i32>
    %22 = extract %tile_49[%cst_0_i32_48, %cst_0_i32_51] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_52 = reshape %22 : tile<1x1xi64> -> tile<i64>
    %cst_1_i32_53 = constant <i32: 1> : tile<i32>
    %23 = extract %tile_49[%cst_0_i32_48, %cst_1_i32_53] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_54 = reshape %23 : tile<1x1xi64> -> tile<i64>
    %cst_2_i32_55 = constant <i32: 2> : tile<i32>
    %24 = extract %tile_49[%cst_0_i32_48, %cst_2_i32_55] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_56 = reshape %24 : tile<1x1xi64> -> tile<i64>
    %cst_3_i32_57 = constant <i32: 3> : tile<i32>
    %25 = extract %tile_49[%cst_0_i32_48, %cst_3_i32_57] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_58 = reshape %25 : tile<1x1xi64> -> tile<i64>
    %cst_4_i32_59 = constant <i32: 4> : tile<i32>
    %26 = extract %tile_49[%cst_0_i32_48, %cst_4_i32_59] : tile<1x8xi64> -> tile<1x1xi64>
    %reshape_60 = reshape %26 : tile<1x1xi64> -> tile<i64>
    %27 = trunci %reshape_54 : tile<i64> -> tile<i32>
    %28 = trunci %reshape_56 : tile<i64> -> tile<i32>
    %29 = trunci %reshape_58 : tile<i64> -> tile<i32>
    %30 = trunci %reshape_60 : tile<i64> -> tile<i32>
    %31 = int_to_ptr %reshape_52 : tile<i64> -> tile<ptr<f32>>
    %assume_61 = assume div_by<16>, %31 : tile<ptr<f32>>
    %assume_62 = assume bounded<0, ?>, %27 : tile<i32>
    %assume_63 = assume bounded<0, ?>, %28 : tile<i32>
    %assume_64 = assume bounded<0, ?>, %29 : tile<i32>
    %tview_65 = make_tensor_view %assume_61, shape = [%assume_62, %assume_63], strides = [%assume_64, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %pview_66 = make_partition_view %tview_65 : partition_view<tile=(32x16), tensor_view<?x?xf32, strides=[?,1]>>
    %32 = store_view_tko weak %21, %pview_66[%cst_0_i32_11, %cst_0_i32_12] token = %iterArg0 : tile<32x16xf32>, partition_view<tile=(32x16), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
    continue %32 : token
  }
  return
}
