entry @integers(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<i32>>, %arg4: tile<i32>, %arg5: tile<i32>) optimization_hints=<sm_80 = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<i32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<i32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_1 = constant <i32: 1> : tile<i32>
  %cst_7_i32 = constant <i32: 7> : tile<64xi32>
  %cst_5_i32 = constant <i32: 5> : tile<64xi32>
  %cst_3_i32 = constant <i32: 3> : tile<64xi32>
  %cst_2_i32 = constant <i32: 2> : tile<64xi32>
  %cst_3_i32_2 = constant <i32: 3> : tile<64xi32>
  %cst_85_i32 = constant <i32: 85> : tile<64xi32>
  %cst_-1000_i32 = constant <i32: -1000> : tile<64xi32>
  %cst_100000_i32 = constant <i32: 100000> : tile<64xi32>
  %cst_3_i32_3 = constant <i32: 3> : tile<64xi32>
  %cst_3_i64 = constant <i64: 3> : tile<64xi64>
  %cst_4_i32 = constant <i32: 4> : tile<64xi32>
  %assume_4 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_4], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_5 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_6 = make_tensor_view %assume_0, shape = [%assume_5], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<64xi32>, token
  %1 = divi %tile, %cst_7_i32 signed rounding<negative_inf> : tile<64xi32>
  %2 = remi %tile, %cst_5_i32 signed : tile<64xi32>
  %cst_0_i32_7 = constant <i32: 0> : tile<64xi32>
  %3 = cmpi less_than %2, %cst_0_i32_7, signed : tile<64xi32> -> tile<64xi1>
  %4 = cmpi less_than %cst_5_i32, %cst_0_i32_7, signed : tile<64xi32> -> tile<64xi1>
  %5 = xori %3, %4 : tile<64xi1>
  %6 = cmpi not_equal %2, %cst_0_i32_7, signed : tile<64xi32> -> tile<64xi1>
  %7 = andi %5, %6 : tile<64xi1>
  %8 = addi %2, %cst_5_i32 : tile<64xi32>
  %9 = select %7, %8, %2 : tile<64xi1>, tile<64xi32>
  %10 = muli %9, %cst_3_i32 : tile<64xi32>
  %11 = addi %1, %10 : tile<64xi32>
  %12 = shri %tile, %cst_2_i32 signed : tile<64xi32>
  %13 = subi %11, %12 : tile<64xi32>
  %14 = shli %tile, %cst_3_i32_2 : tile<64xi32>
  %15 = addi %13, %14 : tile<64xi32>
  %16 = andi %tile, %cst_85_i32 : tile<64xi32>
  %17 = xori %15, %16 : tile<64xi32>
  %18 = muli %tile, %tile : tile<64xi32>
  %19 = ori %17, %18 : tile<64xi32>
  %20 = maxi %19, %cst_-1000_i32 signed : tile<64xi32>
  %21 = mini %20, %cst_100000_i32 signed : tile<64xi32>
  %22 = divi %tile, %cst_3_i32_3 signed rounding<positive_inf> : tile<64xi32>
  %23 = addi %21, %22 : tile<64xi32>
  %24 = exti %tile signed : tile<64xi32> -> tile<64xi64>
  %25 = muli %24, %cst_3_i64 : tile<64xi64>
  %26 = iota : tile<64xi64>
  %27 = addi %25, %26 : tile<64xi64>
  %28 = trunci %27 : tile<64xi64> -> tile<64xi32>
  %29 = addi %23, %28 : tile<64xi32>
  %30 = itof %tile signed  : tile<64xi32> -> tile<64xf32>
  %cst_f32 = constant <f32: 5.000000e-01> : tile<f32>
  %reshape = reshape %cst_f32 : tile<f32> -> tile<1xf32>
  %bcast = broadcast %reshape : tile<1xf32> -> tile<64xf32>
  %31 = mulf %30, %bcast  : tile<64xf32>
  %32 = ftoi %31 signed  : tile<64xf32> -> tile<64xi32>
  %33 = addi %29, %32 : tile<64xi32>
  %cst_0_i32_8 = constant <i32: 0> : tile<i32>
  %34 = cmpi equal %33, %cst_4_i32, signed : tile<64xi32> -> tile<64xi1>
  %35 = negi %33 : tile<64xi32>
  %36 = select %34, %35, %33 : tile<64xi1>, tile<64xi32>
  %pview_9 = make_partition_view %tview_6 : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>
  %37 = store_view_tko weak %36, %pview_9[%cst_0_i32_8] token = %0 : tile<64xi32>, partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token
  return
}
