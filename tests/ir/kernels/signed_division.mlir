entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<i32>>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<ptr<i32>>, %arg7: tile<i32>, %arg8: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<i32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<i32>>
  %assume_1 = assume div_by<16>, %arg6 : tile<ptr<i32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %cst_1000_i32 = constant <i32: 1000> : tile<64xi32>
  %cst_7_i32 = constant <i32: 7> : tile<64xi32>
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
  %cst_0_i32_13 = constant <i32: 0> : tile<i32>
  %1 = divi %tile, %tile_11 signed rounding<negative_inf> : tile<64xi32>
  %2 = muli %1, %cst_1000_i32 : tile<64xi32>
  %3 = remi %tile, %tile_11 signed : tile<64xi32>
  %cst_0_i32_14 = constant <i32: 0> : tile<64xi32>
  %4 = cmpi less_than %3, %cst_0_i32_14, signed : tile<64xi32> -> tile<64xi1>
  %5 = cmpi less_than %tile_11, %cst_0_i32_14, signed : tile<64xi32> -> tile<64xi1>
  %6 = xori %4, %5 : tile<64xi1>
  %7 = cmpi not_equal %3, %cst_0_i32_14, signed : tile<64xi32> -> tile<64xi1>
  %8 = andi %6, %7 : tile<64xi1>
  %9 = addi %3, %tile_11 : tile<64xi32>
  %10 = select %8, %9, %3 : tile<64xi1>, tile<64xi32>
  %11 = addi %2, %10 : tile<64xi32>
  %12 = divi %tile, %tile_11 signed rounding<positive_inf> : tile<64xi32>
  %13 = muli %12, %cst_7_i32 : tile<64xi32>
  %14 = addi %11, %13 : tile<64xi32>
  %pview_15 = make_partition_view %tview_8 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>
  %15 = store_view_tko weak %14, %pview_15[%cst_0_i32_13] token = %0 : tile<64xi32>, partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token
  return
}
