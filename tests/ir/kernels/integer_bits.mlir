entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<i32>>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<ptr<i32>>, %arg7: tile<i32>, %arg8: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<i32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<i32>>
  %assume_1 = assume div_by<16>, %arg6 : tile<ptr<i32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %cst_7_i32 = constant <i32: 7> : tile<64xi32>
  %cst_15_i32 = constant <i32: 15> : tile<64xi32>
  %cst_3_i32 = constant <i32: 3> : tile<64xi32>
  %assume_4 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_4], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_5 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_6 = make_tensor_view %assume_0, shape = [%assume_5], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_7 = assume bounded<0, ?>, %arg7 : tile<i32>
  %tview_8 = make_tensor_view %assume_1, shape = [%assume_7], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<64xi32>, token
  %cst_0_i32_9 = constant <i32: 0> : tile<i32>
  %pview_10 = make_partition_view %tview_6 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>
  %tile_11, %result_token_12 = load_view_tko weak %pview_10[%cst_0_i32_9] token = %0 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<64xi32>, token
  %1 = andi %tile_11, %cst_7_i32 : tile<64xi32>
  %2 = shli %tile, %1 : tile<64xi32>
  %3 = andi %tile_11, %cst_15_i32 : tile<64xi32>
  %4 = shri %tile, %3 signed : tile<64xi32>
  %cst_-1_i32 = constant <i32: -1> : tile<64xi32>
  %5 = xori %tile_11, %cst_-1_i32 : tile<64xi32>
  %6 = xori %4, %5 : tile<64xi32>
  %7 = ori %2, %6 : tile<64xi32>
  %cst_0_i32_13 = constant <i32: 0> : tile<i32>
  %8 = mini %tile, %tile_11 signed : tile<64xi32>
  %9 = maxi %tile, %cst_3_i32 signed : tile<64xi32>
  %10 = muli %8, %9 : tile<64xi32>
  %11 = addi %7, %10 : tile<64xi32>
  %12 = absi %tile : tile<64xi32>
  %13 = subi %11, %12 : tile<64xi32>
  %pview_14 = make_partition_view %tview_8 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>
  %14 = store_view_tko weak %13, %pview_14[%cst_0_i32_13] token = %0 : tile<64xi32>, partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token
  return
}
