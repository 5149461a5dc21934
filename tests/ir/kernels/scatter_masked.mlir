entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<i32>>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<ptr<f32>>, %arg7: tile<i32>, %arg8: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<i32>>
  %assume_1 = assume div_by<16>, %arg6 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i64 = constant <i64: 1> : tile<32xi64>
  %assume_3 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_3], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_4 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_5 = make_tensor_view %assume_0, shape = [%assume_4], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_6 = assume bounded<0, ?>, %arg7 : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview_5 : partition_view<tile=(32), tensor_view<?xi32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(32), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<32xi32>, token
  %cst_0_i32_7 = constant <i32: 0> : tile<i32>
  %pview_8 = make_partition_view %tview : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>
  %tile_9, %result_token_10 = load_view_tko weak %pview_8[%cst_0_i32_7] token = %0 : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<32xf32>, token
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<f32>
  %reshape = reshape %cst_0_f32 : tile<f32> -> tile<1xf32>
  %bcast = broadcast %reshape : tile<1xf32> -> tile<32xf32>
  %1 = cmpf greater_than ordered %tile_9, %bcast : tile<32xf32> -> tile<32xi1>
  %2 = exti %tile signed : tile<32xi32> -> tile<32xi64>
  %3 = exti %assume_6 signed : tile<i32> -> tile<i64>
  %reshape_11 = reshape %3 : tile<i64> -> tile<1xi64>
  %bcast_12 = broadcast %reshape_11 : tile<1xi64> -> tile<32xi64>
  %4 = cmpi less_than %2, %bcast_12, unsigned : tile<32xi64> -> tile<32xi1>
  %5 = muli %2, %cst_1_i64 : tile<32xi64>
  %reshape_13 = reshape %assume_1 : tile<ptr<f32>> -> tile<1xptr<f32>>
  %bcast_14 = broadcast %reshape_13 : tile<1xptr<f32>> -> tile<32xptr<f32>>
  %6 = offset %bcast_14, %5 : tile<32xptr<f32>>, tile<32xi64> -> tile<32xptr<f32>>
  %7 = andi %4, %1 : tile<32xi1>
  %8 = store_ptr_tko weak %6, %tile_9, %7 token=%0 : tile<32xptr<f32>>, tile<32xf32>, tile<32xi1> -> token
  return
}
