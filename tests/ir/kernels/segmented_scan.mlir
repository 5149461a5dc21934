entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<i32>>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<ptr<f32>>, %arg7: tile<i32>, %arg8: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<i32>>
  %assume_1 = assume div_by<16>, %arg6 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_4], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_5 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_6 = make_tensor_view %assume_0, shape = [%assume_5], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_7 = assume bounded<0, ?>, %arg7 : tile<i32>
  %tview_8 = make_tensor_view %assume_1, shape = [%assume_7], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %cst_0_i32_9 = constant <i32: 0> : tile<i32>
  %pview_10 = make_partition_view %tview_6 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>
  %tile_11, %result_token_12 = load_view_tko weak %pview_10[%cst_0_i32_9] token = %0 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<64xi32>, token
  %cst_0_i32_13 = constant <i32: 0> : tile<i32>
  %1:2 = scan %tile, %tile_11 dim=0 reverse=false identities=[0.000000e+00 : f32, 0 : i32] : tile<64xf32>, tile<64xi32> -> tile<64xf32>, tile<64xi32> 
  (%arg9: tile<f32>, %arg10: tile<f32>, %arg11: tile<i32>, %arg12: tile<i32>) {
    %3 = cmpi not_equal %arg12, %cst_0_i32_13, signed : tile<i32> -> tile<i1>
    %4 = addf %arg9, %arg10  : tile<f32>
    %5 = select %3, %arg10, %4 : tile<i1>, tile<f32>
    %6 = ori %arg11, %arg12 : tile<i32>
    yield %5, %6 : tile<f32>, tile<i32>
  }
  %cst_0_i32_14 = constant <i32: 0> : tile<i32>
  %pview_15 = make_partition_view %tview_8 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %2 = store_view_tko weak %1#0, %pview_15[%cst_0_i32_14] token = %0 : tile<64xf32>, partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
