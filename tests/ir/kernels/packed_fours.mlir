entry @k(%arg0: tile<ptr<i8>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<i8>>, %arg4: tile<i32>, %arg5: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<i8>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<i8>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_1 = constant <i32: 1> : tile<i32>
  %assume_2 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_2], strides = [1] : tile<i32> -> tensor_view<?xi8, strides=[1]>
  %assume_3 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_4 = make_tensor_view %assume_0, shape = [%assume_3], strides = [1] : tile<i32> -> tensor_view<?xi8, strides=[1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(32), tensor_view<?xi8, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(32), tensor_view<?xi8, strides=[1]>>, tile<i32> -> tile<32xi8>, token
  %1 = unpack %tile : tile<32xi8> -> tile<64xf4E2M1FN>
  %2 = ftof %1  : tile<64xf4E2M1FN> -> tile<64xf32>
  %cst_0_i32_5 = constant <i32: 0> : tile<i32>
  %cst_f32 = constant <f32: 5.000000e-01> : tile<f32>
  %reshape = reshape %cst_f32 : tile<f32> -> tile<1xf32>
  %bcast = broadcast %reshape : tile<1xf32> -> tile<64xf32>
  %3 = mulf %2, %bcast  : tile<64xf32>
  %4 = ftof %3  : tile<64xf32> -> tile<64xf4E2M1FN>
  %5 = pack %4 : tile<64xf4E2M1FN> -> tile<32xi8>
  %pview_6 = make_partition_view %tview_4 : partition_view<tile=(32), tensor_view<?xi8, strides=[1]>>
  %6 = store_view_tko weak %5, %pview_6[%cst_0_i32_5] token = %0 : tile<32xi8>, partition_view<tile=(32), tensor_view<?xi8, strides=[1]>>, tile<i32> -> token
  return
}
