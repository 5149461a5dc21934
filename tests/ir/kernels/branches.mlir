entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<f32>>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_1 = constant <i32: 1> : tile<i32>
  %assume_2 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_2], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_3 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_4 = make_tensor_view %assume_0, shape = [%assume_3], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<32xf32>, token
  %cst_0_i32_5 = constant <i32: 0> : tile<i32>
  %1 = cmpi equal %arg6, %cst_0_i32_5, signed : tile<i32> -> tile<i1>
  %2 = if %1 -> (tile<32xf32>) {
    %cst_1_f32 = constant <f32: 1.000000e+00> : tile<f32>
    %reshape = reshape %cst_1_f32 : tile<f32> -> tile<1xf32>
    %bcast = broadcast %reshape : tile<1xf32> -> tile<32xf32>
    %4 = addf %tile, %bcast  : tile<32xf32>
    yield %4 : tile<32xf32>
  } else {
    %cst_1_i32_8 = constant <i32: 1> : tile<i32>
    %4 = cmpi equal %arg6, %cst_1_i32_8, signed : tile<i32> -> tile<i1>
    %5 = if %4 -> (tile<32xf32>) {
      %cst_2_f32 = constant <f32: 2.000000e+00> : tile<f32>
      %reshape = reshape %cst_2_f32 : tile<f32> -> tile<1xf32>
      %bcast = broadcast %reshape : tile<1xf32> -> tile<32xf32>
      %6 = mulf %tile, %bcast  : tile<32xf32>
      yield %6 : tile<32xf32>
    } else {
      %6 = negf %tile : tile<32xf32>
      yield %6 : tile<32xf32>
    }
    yield %5 : tile<32xf32>
  }
  %cst_0_i32_6 = constant <i32: 0> : tile<i32>
  %pview_7 = make_partition_view %tview_4 : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>
  %3 = store_view_tko weak %2, %pview_7[%cst_0_i32_6] token = %0 : tile<32xf32>, partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
