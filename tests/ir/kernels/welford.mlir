entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_1 = constant <i32: 1> : tile<i32>
  %assume_2 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_3 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_2, %assume_3], strides = [%assume_4, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_5 = assume bounded<0, ?>, %arg6 : tile<i32>
  %assume_6 = assume bounded<0, ?>, %arg7 : tile<i32>
  %assume_7 = assume bounded<0, ?>, %arg8 : tile<i32>
  %tview_8 = make_tensor_view %assume_0, shape = [%assume_5, %assume_6], strides = [%assume_7, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_0_i32_9 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(8x64), tensor_view<?x?xf32, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32, %cst_0_i32_9] token = %0 : partition_view<tile=(8x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<8x64xf32>, token
  %cst_1_f32 = constant <f32: 1.000000e+00> : tile<8x64xf32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<8x64xf32>
  %reduce:3 = reduce %cst_1_f32, %tile, %cst_0_f32 dim=1 identities=[0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32] : tile<8x64xf32>, tile<8x64xf32>, tile<8x64xf32> -> tile<8xf32>, tile<8xf32>, tile<8xf32> 
  (%reduce_lhs0: tile<f32>, %reduce_rhs0: tile<f32>, %reduce_lhs1: tile<f32>, %reduce_rhs1: tile<f32>, %reduce_lhs2: tile<f32>, %reduce_rhs2: tile<f32>) {
    %4 = addf %reduce_lhs0, %reduce_rhs0  : tile<f32>
    %5 = subf %reduce_rhs1, %reduce_lhs1  : tile<f32>
    %6 = mulf %5, %reduce_rhs0  : tile<f32>
    %7 = divf %6, %4  : tile<f32>
    %8 = addf %reduce_lhs1, %7  : tile<f32>
    %9 = addf %reduce_lhs2, %reduce_rhs2  : tile<f32>
    %10 = mulf %5, %5  : tile<f32>
    %11 = mulf %10, %reduce_lhs0  : tile<f32>
    %12 = mulf %11, %reduce_rhs0  : tile<f32>
    %13 = divf %12, %4  : tile<f32>
    %14 = addf %9, %13  : tile<f32>
    yield %4, %8, %14 : tile<f32>, tile<f32>, tile<f32>
  }
  %cst_0_i32_10 = constant <i32: 0> : tile<i32>
  %cst_0_i32_11 = constant <i32: 0> : tile<i32>
  %reshape = reshape %reduce#0 : tile<8xf32> -> tile<1x8xf32>
  %pview_12 = make_partition_view %tview_8 : partition_view<tile=(1x8), tensor_view<?x?xf32, strides=[?,1]>>
  %1 = store_view_tko weak %reshape, %pview_12[%cst_0_i32_10, %cst_0_i32_11] token = %0 : tile<1x8xf32>, partition_view<tile=(1x8), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  %cst_1_i32_13 = constant <i32: 1> : tile<i32>
  %cst_0_i32_14 = constant <i32: 0> : tile<i32>
  %reshape_15 = reshape %reduce#1 : tile<8xf32> -> tile<1x8xf32>
  %pview_16 = make_partition_view %tview_8 : partition_view<tile=(1x8), tensor_view<?x?xf32, strides=[?,1]>>
  %2 = store_view_tko weak %reshape_15, %pview_16[%cst_1_i32_13, %cst_0_i32_14] token = %1 : tile<1x8xf32>, partition_view<tile=(1x8), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  %cst_2_i32 = constant <i32: 2> : tile<i32>
  %cst_0_i32_17 = constant <i32: 0> : tile<i32>
  %reshape_18 = reshape %reduce#2 : tile<8xf32> -> tile<1x8xf32>
  %pview_19 = make_partition_view %tview_8 : partition_view<tile=(1x8), tensor_view<?x?xf32, strides=[?,1]>>
  %3 = store_view_tko weak %reshape_18, %pview_19[%cst_2_i32, %cst_0_i32_17] token = %2 : tile<1x8xf32>, partition_view<tile=(1x8), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
