entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<i32>>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<ptr<i32>>, %arg7: tile<i32>, %arg8: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<i32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<i32>>
  %assume_1 = assume div_by<16>, %arg6 : tile<ptr<i32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i64 = constant <i64: 1> : tile<32xi64>
  %cst_32_i32 = constant <i32: 32> : tile<32xi32>
  %cst_1_i64_3 = constant <i64: 1> : tile<32xi64>
  %cst_64_i32 = constant <i32: 64> : tile<32xi32>
  %cst_1_i64_4 = constant <i64: 1> : tile<32xi64>
  %cst_96_i32 = constant <i32: 96> : tile<32xi32>
  %cst_1_i64_5 = constant <i64: 1> : tile<32xi64>
  %cst_128_i32 = constant <i32: 128> : tile<32xi32>
  %cst_1_i64_6 = constant <i64: 1> : tile<32xi64>
  %cst_160_i32 = constant <i32: 160> : tile<32xi32>
  %cst_1_i64_7 = constant <i64: 1> : tile<32xi64>
  %assume_8 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_8], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_9 = assume bounded<0, ?>, %arg4 : tile<i32>
  %assume_10 = assume bounded<0, ?>, %arg7 : tile<i32>
  %tview_11 = make_tensor_view %assume_1, shape = [%assume_10], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %1 = iota : tile<32xi32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(32), tensor_view<?xi32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(32), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<32xi32>, token
  %2 = join_tokens %0, %result_token : token
  %3 = exti %1 signed : tile<32xi32> -> tile<32xi64>
  %4 = exti %assume_9 signed : tile<i32> -> tile<i64>
  %reshape = reshape %4 : tile<i64> -> tile<1xi64>
  %bcast = broadcast %reshape : tile<1xi64> -> tile<32xi64>
  %5 = cmpi less_than %3, %bcast, unsigned : tile<32xi64> -> tile<32xi1>
  %6 = muli %3, %cst_1_i64 : tile<32xi64>
  %reshape_12 = reshape %assume_0 : tile<ptr<i32>> -> tile<1xptr<i32>>
  %bcast_13 = broadcast %reshape_12 : tile<1xptr<i32>> -> tile<32xptr<i32>>
  %7 = offset %bcast_13, %6 : tile<32xptr<i32>>, tile<32xi64> -> tile<32xptr<i32>>
  %8 = join_tokens %0, %2 : token
  %result, %result_token_14 = atomic_rmw_tko acq_rel device %7, max, %tile, %5 token=%8 : tile<32xptr<i32>>, tile<32xi32>, tile<32xi1> -> tile<32xi32>, token
  %9 = addi %1, %cst_32_i32 : tile<32xi32>
  %10 = exti %9 signed : tile<32xi32> -> tile<32xi64>
  %11 = exti %assume_9 signed : tile<i32> -> tile<i64>
  %reshape_15 = reshape %11 : tile<i64> -> tile<1xi64>
  %bcast_16 = broadcast %reshape_15 : tile<1xi64> -> tile<32xi64>
  %12 = cmpi less_than %10, %bcast_16, unsigned : tile<32xi64> -> tile<32xi1>
  %13 = muli %10, %cst_1_i64_3 : tile<32xi64>
  %reshape_17 = reshape %assume_0 : tile<ptr<i32>> -> tile<1xptr<i32>>
  %bcast_18 = broadcast %reshape_17 : tile<1xptr<i32>> -> tile<32xptr<i32>>
  %14 = offset %bcast_18, %13 : tile<32xptr<i32>>, tile<32xi64> -> tile<32xptr<i32>>
  %15 = join_tokens %result_token_14, %2 : token
  %result_19, %result_token_20 = atomic_rmw_tko acq_rel device %14, min, %tile, %12 token=%15 : tile<32xptr<i32>>, tile<32xi32>, tile<32xi1> -> tile<32xi32>, token
  %16 = addi %result, %result_19 : tile<32xi32>
  %17 = addi %1, %cst_64_i32 : tile<32xi32>
  %18 = exti %17 signed : tile<32xi32> -> tile<32xi64>
  %19 = exti %assume_9 signed : tile<i32> -> tile<i64>
  %reshape_21 = reshape %19 : tile<i64> -> tile<1xi64>
  %bcast_22 = broadcast %reshape_21 : tile<1xi64> -> tile<32xi64>
  %20 = cmpi less_than %18, %bcast_22, unsigned : tile<32xi64> -> tile<32xi1>
  %21 = muli %18, %cst_1_i64_4 : tile<32xi64>
  %reshape_23 = reshape %assume_0 : tile<ptr<i32>> -> tile<1xptr<i32>>
  %bcast_24 = broadcast %reshape_23 : tile<1xptr<i32>> -> tile<32xptr<i32>>
  %22 = offset %bcast_24, %21 : tile<32xptr<i32>>, tile<32xi64> -> tile<32xptr<i32>>
  %23 = join_tokens %result_token_20, %2 : token
  %result_25, %result_token_26 = atomic_rmw_tko acq_rel device %22, xor, %tile, %20 token=%23 : tile<32xptr<i32>>, tile<32xi32>, tile<32xi1> -> tile<32xi32>, token
  %24 = addi %16, %result_25 : tile<32xi32>
  %25 = addi %1, %cst_96_i32 : tile<32xi32>
  %26 = exti %25 signed : tile<32xi32> -> tile<32xi64>
  %27 = exti %assume_9 signed : tile<i32> -> tile<i64>
  %reshape_27 = reshape %27 : tile<i64> -> tile<1xi64>
  %bcast_28 = broadcast %reshape_27 : tile<1xi64> -> tile<32xi64>
  %28 = cmpi less_than %26, %bcast_28, unsigned : tile<32xi64> -> tile<32xi1>
  %29 = muli %26, %cst_1_i64_5 : tile<32xi64>
  %reshape_29 = reshape %assume_0 : tile<ptr<i32>> -> tile<1xptr<i32>>
  %bcast_30 = broadcast %reshape_29 : tile<1xptr<i32>> -> tile<32xptr<i32>>
  %30 = offset %bcast_30, %29 : tile<32xptr<i32>>, tile<32xi64> -> tile<32xptr<i32>>
  %31 = join_tokens %result_token_26, %2 : token
  %result_31, %result_token_32 = atomic_rmw_tko acq_rel device %30, or, %tile, %28 token=%31 : tile<32xptr<i32>>, tile<32xi32>, tile<32xi1> -> tile<32xi32>, token
  %32 = addi %24, %result_31 : tile<32xi32>
  %33 = addi %1, %cst_128_i32 : tile<32xi32>
  %34 = exti %33 signed : tile<32xi32> -> tile<32xi64>
  %35 = exti %assume_9 signed : tile<i32> -> tile<i64>
  %reshape_33 = reshape %35 : tile<i64> -> tile<1xi64>
  %bcast_34 = broadcast %reshape_33 : tile<1xi64> -> tile<32xi64>
  %36 = cmpi less_than %34, %bcast_34, unsigned : tile<32xi64> -> tile<32xi1>
  %37 = muli %34, %cst_1_i64_6 : tile<32xi64>
  %reshape_35 = reshape %assume_0 : tile<ptr<i32>> -> tile<1xptr<i32>>
  %bcast_36 = broadcast %reshape_35 : tile<1xptr<i32>> -> tile<32xptr<i32>>
  %38 = offset %bcast_36, %37 : tile<32xptr<i32>>, tile<32xi64> -> tile<32xptr<i32>>
  %39 = join_tokens %result_token_32, %2 : token
  %result_37, %result_token_38 = atomic_rmw_tko acq_rel device %38, and, %tile, %36 token=%39 : tile<32xptr<i32>>, tile<32xi32>, tile<32xi1> -> tile<32xi32>, token
  %40 = addi %32, %result_37 : tile<32xi32>
  %cst_0_i32_39 = constant <i32: 0> : tile<i32>
  %41 = addi %1, %cst_160_i32 : tile<32xi32>
  %42 = exti %41 signed : tile<32xi32> -> tile<32xi64>
  %43 = exti %assume_9 signed : tile<i32> -> tile<i64>
  %reshape_40 = reshape %43 : tile<i64> -> tile<1xi64>
  %bcast_41 = broadcast %reshape_40 : tile<1xi64> -> tile<32xi64>
  %44 = cmpi less_than %42, %bcast_41, unsigned : tile<32xi64> -> tile<32xi1>
  %45 = muli %42, %cst_1_i64_7 : tile<32xi64>
  %reshape_42 = reshape %assume_0 : tile<ptr<i32>> -> tile<1xptr<i32>>
  %bcast_43 = broadcast %reshape_42 : tile<1xptr<i32>> -> tile<32xptr<i32>>
  %46 = offset %bcast_43, %45 : tile<32xptr<i32>>, tile<32xi64> -> tile<32xptr<i32>>
  %47 = join_tokens %result_token_38, %2 : token
  %result_44, %result_token_45 = atomic_rmw_tko acq_rel device %46, xchg, %tile, %44 token=%47 : tile<32xptr<i32>>, tile<32xi32>, tile<32xi1> -> tile<32xi32>, token
  %48 = addi %40, %result_44 : tile<32xi32>
  %pview_46 = make_partition_view %tview_11 : partition_view<tile=(32), tensor_view<?xi32, strides=[1]>>
  %49 = join_tokens %0, %result_token_45 : token
  %50 = store_view_tko weak %48, %pview_46[%cst_0_i32_39] token = %49 : tile<32xi32>, partition_view<tile=(32), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token
  return
}
