entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<i32>>, %arg4: tile<i32>, %arg5: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<i32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<i32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_1 = constant <i32: 1> : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<4xi32>
  %assume_2 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_2], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_3 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_4 = make_tensor_view %assume_0, shape = [%assume_3], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %cst_0_i32_5 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32_5] token = %0 : partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<4xi32>, token
  %1 = join_tokens %0, %result_token : token
  %2 = cmpi greater_than %tile, %cst_0_i32, signed : tile<4xi32> -> tile<4xi1>
  assert %2, "positive" : tile<4xi1>
  %gridSize_x, %gridSize_y, %gridSize_z = get_num_tile_blocks : tile<i32>
  %3 = itof %tile signed  : tile<4xi32> -> tile<4xf32>
  %4 = join_tokens %0, %1 : token
  %5 = print_tko "%d tiles: %5.2f\0A", %gridSize_x, %3 token=%4 : tile<i32>, tile<4xf32> -> token
  %cst_0_i32_6 = constant <i32: 0> : tile<i32>
  %pview_7 = make_partition_view %tview_4 : partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>
  %6 = join_tokens %0, %5 : token
  %7 = store_view_tko weak %tile, %pview_7[%cst_0_i32_6] token = %6 : tile<4xi32>, partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token
  return
}
