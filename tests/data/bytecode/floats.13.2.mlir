entry @floats(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<f32>>, %arg4: tile<i32>, %arg5: tile<i32>) optimization_hints=<sm_80 = {}> {
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
  %pview = make_partition_view %tview : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %cst_f32 = constant <f32: 5.000000e-01> : tile<f32>
  %reshape = reshape %cst_f32 : tile<f32> -> tile<1xf32>
  %bcast = broadcast %reshape : tile<1xf32> -> tile<64xf32>
  %1 = cmpf greater_than ordered %tile, %bcast : tile<64xf32> -> tile<64xi1>
  %2 = negf %tile : tile<64xf32>
  %3 = exp %2  : tile<64xf32>
  %4 = absf %tile : tile<64xf32>
  %cst_1_f32 = constant <f32: 1.000000e+00> : tile<f32>
  %reshape_5 = reshape %cst_1_f32 : tile<f32> -> tile<1xf32>
  %bcast_6 = broadcast %reshape_5 : tile<1xf32> -> tile<64xf32>
  %5 = addf %4, %bcast_6  : tile<64xf32>
  %6 = log %5 : tile<64xf32>
  %7 = select %1, %3, %6 : tile<64xi1>, tile<64xf32>
  %8 = absf %tile : tile<64xf32>
  %9 = sqrt %8  : tile<64xf32>
  %10 = addf %7, %9  : tile<64xf32>
  %11 = tanh %tile  : tile<64xf32>
  %12 = addf %10, %11  : tile<64xf32>
  %cst_1_f32_7 = constant <f32: 1.000000e+00> : tile<f32>
  %reshape_8 = reshape %cst_1_f32_7 : tile<f32> -> tile<1xf32>
  %bcast_9 = broadcast %reshape_8 : tile<1xf32> -> tile<64xf32>
  %13 = fma %tile, %tile, %bcast_9  : tile<64xf32>
  %14 = rsqrt %13 : tile<64xf32>
  %15 = addf %12, %14  : tile<64xf32>
  %16 = exp2 %tile : tile<64xf32>
  %17 = addf %15, %16  : tile<64xf32>
  %cst_2_f32 = constant <f32: 2.000000e+00> : tile<f32>
  %reshape_10 = reshape %cst_2_f32 : tile<f32> -> tile<1xf32>
  %bcast_11 = broadcast %reshape_10 : tile<1xf32> -> tile<64xf32>
  %18 = fma %tile, %tile, %bcast_11  : tile<64xf32>
  %19 = log2 %18 : tile<64xf32>
  %20 = addf %17, %19  : tile<64xf32>
  %cst_f32_12 = constant <f32: 2.500000e-01> : tile<f32>
  %reshape_13 = reshape %cst_f32_12 : tile<f32> -> tile<1xf32>
  %bcast_14 = broadcast %reshape_13 : tile<1xf32> -> tile<64xf32>
  %21 = minf %tile, %bcast_14 : tile<64xf32>
  %22 = maxf %20, %21 : tile<64xf32>
  %23 = floor %tile : tile<64xf32>
  %24 = addf %22, %23  : tile<64xf32>
  %cst_f32_15 = constant <f32: 5.000000e-01> : tile<f32>
  %reshape_16 = reshape %cst_f32_15 : tile<f32> -> tile<1xf32>
  %bcast_17 = broadcast %reshape_16 : tile<1xf32> -> tile<64xf32>
  %25 = mulf %tile, %bcast_17  : tile<64xf32>
  %26 = ceil %25 : tile<64xf32>
  %27 = subf %24, %26  : tile<64xf32>
  %28 = sin %tile : tile<64xf32>
  %29 = cos %tile : tile<64xf32>
  %30 = fma %28, %29, %27  : tile<64xf32>
  %cst_3_f32 = constant <f32: 3.000000e+00> : tile<f32>
  %reshape_18 = reshape %cst_3_f32 : tile<f32> -> tile<1xf32>
  %bcast_19 = broadcast %reshape_18 : tile<1xf32> -> tile<64xf32>
  %31 = divf %30, %bcast_19 rounding<approx> flush_to_zero : tile<64xf32>
  %32 = ftof %31  : tile<64xf32> -> tile<64xf16>
  %33 = ftof %32  : tile<64xf16> -> tile<64xf32>
  %34 = ftof %tile  : tile<64xf32> -> tile<64xbf16>
  %35 = ftof %34  : tile<64xbf16> -> tile<64xf32>
  %36 = addf %33, %35  : tile<64xf32>
  %cst_0_i32_20 = constant <i32: 0> : tile<i32>
  %pview_21 = make_partition_view %tview_4 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %37 = store_view_tko weak %36, %pview_21[%cst_0_i32_20] token = %0 : tile<64xf32>, partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
