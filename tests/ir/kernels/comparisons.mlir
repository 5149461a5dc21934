entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<f32>>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<ptr<i32>>, %arg7: tile<i32>, %arg8: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<f32>>
  %assume_1 = assume div_by<16>, %arg6 : tile<ptr<i32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %cst_1_i32_4 = constant <i32: 1> : tile<64xi32>
  %cst_0_i32 = constant <i32: 0> : tile<64xi32>
  %cst_2_i32 = constant <i32: 2> : tile<64xi32>
  %cst_0_i32_5 = constant <i32: 0> : tile<64xi32>
  %cst_4_i32 = constant <i32: 4> : tile<64xi32>
  %cst_0_i32_6 = constant <i32: 0> : tile<64xi32>
  %cst_8_i32 = constant <i32: 8> : tile<64xi32>
  %cst_0_i32_7 = constant <i32: 0> : tile<64xi32>
  %cst_16_i32 = constant <i32: 16> : tile<64xi32>
  %cst_0_i32_8 = constant <i32: 0> : tile<64xi32>
  %cst_32_i32 = constant <i32: 32> : tile<64xi32>
  %cst_0_i32_9 = constant <i32: 0> : tile<64xi32>
  %cst_64_i32 = constant <i32: 64> : tile<64xi32>
  %cst_0_i32_10 = constant <i32: 0> : tile<64xi32>
  %assume_11 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_11], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_12 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_13 = make_tensor_view %assume_0, shape = [%assume_12], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_14 = assume bounded<0, ?>, %arg7 : tile<i32>
  %tview_15 = make_tensor_view %assume_1, shape = [%assume_14], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %cst_0_i32_16 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32_16] token = %0 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %cst_0_i32_17 = constant <i32: 0> : tile<i32>
  %pview_18 = make_partition_view %tview_13 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %tile_19, %result_token_20 = load_view_tko weak %pview_18[%cst_0_i32_17] token = %0 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %1 = cmpf less_than ordered %tile, %tile_19 : tile<64xf32> -> tile<64xi1>
  %2 = select %1, %cst_1_i32_4, %cst_0_i32 : tile<64xi1>, tile<64xi32>
  %3 = cmpf less_than_or_equal ordered %tile, %tile_19 : tile<64xf32> -> tile<64xi1>
  %4 = select %3, %cst_2_i32, %cst_0_i32_5 : tile<64xi1>, tile<64xi32>
  %5 = addi %2, %4 : tile<64xi32>
  %6 = cmpf equal ordered %tile, %tile_19 : tile<64xf32> -> tile<64xi1>
  %7 = select %6, %cst_4_i32, %cst_0_i32_6 : tile<64xi1>, tile<64xi32>
  %8 = addi %5, %7 : tile<64xi32>
  %9 = cmpf not_equal unordered %tile, %tile_19 : tile<64xf32> -> tile<64xi1>
  %10 = select %9, %cst_8_i32, %cst_0_i32_7 : tile<64xi1>, tile<64xi32>
  %11 = addi %8, %10 : tile<64xi32>
  %12 = cmpf greater_than ordered %tile, %tile_19 : tile<64xf32> -> tile<64xi1>
  %13 = select %12, %cst_16_i32, %cst_0_i32_8 : tile<64xi1>, tile<64xi32>
  %14 = addi %11, %13 : tile<64xi32>
  %15 = cmpf greater_than_or_equal ordered %tile, %tile_19 : tile<64xf32> -> tile<64xi1>
  %16 = select %15, %cst_32_i32, %cst_0_i32_9 : tile<64xi1>, tile<64xi32>
  %17 = addi %14, %16 : tile<64xi32>
  %18 = cmpf not_equal unordered %tile, %tile : tile<64xf32> -> tile<64xi1>
  %19 = select %18, %cst_64_i32, %cst_0_i32_10 : tile<64xi1>, tile<64xi32>
  %20 = addi %17, %19 : tile<64xi32>
  %cst_0_i32_21 = constant <i32: 0> : tile<i32>
  %pview_22 = make_partition_view %tview_15 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>
  %21 = store_view_tko weak %20, %pview_22[%cst_0_i32_21] token = %0 : tile<64xi32>, partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token
  return
}
