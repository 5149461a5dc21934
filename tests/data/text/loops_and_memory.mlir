entry @k1_Kt1_A2f16_1l0_2t1_p16_A1f32_1l0_Si32(%arg0: tile<ptr<f16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<i32>) optimization_hints=<default = {num_cta_in_cga = 2, num_worker_warps_per_cta = 8, occupancy = 4}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f16>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_2_i32 = constant <i32: 2> : tile<32xi32>
  %assume_0 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_1 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_2 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_0, %assume_1], strides = [%assume_2, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %assume_3 = assume bounded<0, ?>, %arg6 : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg7 : tile<i32>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<16x32xf32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_1_i32_5 = constant <i32: 1> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(16x32), tensor_view<?x?xf16, strides=[?,1]>>
  %cst_2_i32_6 = constant <i32: 2> : tile<i32>
  %cst_0_i32_7 = constant <i32: 0> : tile<i32>
  %false = constant <i1: false> : tile<i1>
  %cst_0_i32_8 = constant <i32: 0> : tile<i32>
  %for:2 = for %loopIdx in (%cst_0_i32 to %arg8, step %cst_1_i32_5) : tile<i32> iter_values(%iterArg0 = %cst_0_f32, %iterArg1 = %0) -> (tile<16x32xf32>, token) {
    %tile, %result_token_54 = load_view_tko weak %pview[%blockId_x, %loopIdx] token = %0 : partition_view<tile=(16x32), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<16x32xf16>, token
    %50 = join_tokens %iterArg1, %result_token_54 : token
    %51 = remi %loopIdx, %cst_2_i32_6 signed : tile<i32>
    %52 = cmpi less_than %51, %cst_0_i32_7, signed : tile<i32> -> tile<i1>
    %53 = xori %52, %false : tile<i1>
    %54 = cmpi not_equal %51, %cst_0_i32_7, signed : tile<i32> -> tile<i1>
    %55 = andi %53, %54 : tile<i1>
    %56 = addi %51, %cst_2_i32_6 : tile<i32>
    %57 = select %55, %56, %51 : tile<i1>, tile<i32>
    %58 = cmpi equal %57, %cst_0_i32_8, signed : tile<i32> -> tile<i1>
    %59 = if %58 -> (tile<16x32xf32>) {
      %60 = ftof %tile  : tile<16x32xf16> -> tile<16x32xf32>
      %61 = exp %60  : tile<16x32xf32>
      %62 = addf %iterArg0, %61  : tile<16x32xf32>
      yield %62 : tile<16x32xf32>
    } else {
      %60 = ftof %tile  : tile<16x32xf16> -> tile<16x32xf32>
      %61 = tanh %60  : tile<16x32xf32>
      %62 = subf %iterArg0, %61  : tile<16x32xf32>
      yield %62 : tile<16x32xf32>
    }
    continue %59, %50 : tile<16x32xf32>, token
  }
  %cst_0_i32_9 = constant <i32: 0> : tile<i32>
  %cst_2_f32 = constant <f32: 2.000000e+00> : tile<f32>
  %reshape = reshape %cst_2_f32 : tile<f32> -> tile<1x1xf32>
  %bcast = broadcast %reshape : tile<1x1xf32> -> tile<16x32xf32>
  %cst_1_i32_10 = constant <i32: 1> : tile<i32>
  %cst_3_i32 = constant <i32: 3> : tile<i32>
  %1:2 = loop iter_values(%arg9 = %for#0, %arg10 = %cst_0_i32_9) : tile<16x32xf32>, tile<i32> -> tile<16x32xf32>, tile<i32> {
    %50 = mulf %arg9, %bcast  : tile<16x32xf32>
    %51 = addi %arg10, %cst_1_i32_10 : tile<i32>
    %52 = cmpi greater_than %51, %cst_3_i32, signed : tile<i32> -> tile<i1>
    if %52 {
      break %50, %51 : tile<16x32xf32>, tile<i32>
    } else {
    }
    continue %50, %51 : tile<16x32xf32>, tile<i32>
  }
  %reduce = reduce %1#0 dim=1 identities=[0xFF800000 : f32] : tile<16x32xf32> -> tile<16xf32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %50 = maxf %reduce_lhs, %reduce_rhs : tile<f32>
    yield %50 : tile<f32>
  }
  %reshape_11 = reshape %reduce : tile<16xf32> -> tile<16x1xf32>
  %2 = scan %1#0 dim=1 reverse=false identities=[0.000000e+00 : f32] : tile<16x32xf32> -> tile<16x32xf32> 
  (%arg9: tile<f32>, %arg10: tile<f32>) {
    %50 = addf %arg9, %arg10  : tile<f32>
    yield %50 : tile<f32>
  }
  %3 = iota : tile<16xi32>
  %reshape_12 = reshape %3 : tile<16xi32> -> tile<16x1xi32>
  %bcast_13 = broadcast %reshape_12 : tile<16x1xi32> -> tile<16x32xi32>
  %reduce_14:2 = reduce %1#0, %bcast_13 dim=0 identities=[0xFF800000 : f32, 0 : i32] : tile<16x32xf32>, tile<16x32xi32> -> tile<32xf32>, tile<32xi32> 
  (%reduce_lhs0: tile<f32>, %reduce_rhs0: tile<f32>, %reduce_lhs1: tile<i32>, %reduce_rhs1: tile<i32>) {
    %50 = cmpf greater_than ordered %reduce_lhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %51 = cmpf equal ordered %reduce_lhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %52 = cmpf not_equal unordered %reduce_lhs0, %reduce_lhs0 : tile<f32> -> tile<i1>
    %53 = cmpf not_equal unordered %reduce_rhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %54 = cmpf equal ordered %reduce_lhs0, %reduce_lhs0 : tile<f32> -> tile<i1>
    %55 = andi %54, %53 : tile<i1>
    %56 = ori %50, %55 : tile<i1>
    %57 = andi %52, %53 : tile<i1>
    %58 = ori %51, %57 : tile<i1>
    %59 = cmpi less_than %reduce_lhs1, %reduce_rhs1, signed : tile<i32> -> tile<i1>
    %60 = andi %58, %59 : tile<i1>
    %61 = ori %56, %60 : tile<i1>
    %62 = select %61, %reduce_lhs0, %reduce_rhs0 : tile<i1>, tile<f32>
    %63 = select %61, %reduce_lhs1, %reduce_rhs1 : tile<i1>, tile<i32>
    yield %62, %63 : tile<f32>, tile<i32>
  }
  %4 = iota : tile<32xi32>
  %reshape_15 = reshape %arg8 : tile<i32> -> tile<1xi32>
  %bcast_16 = broadcast %reshape_15 : tile<1xi32> -> tile<32xi32>
  %5 = cmpi less_than %4, %bcast_16, signed : tile<32xi32> -> tile<32xi1>
  %cst_f32 = constant <f32: -1.500000e+00> : tile<f32>
  %6 = exti %4 signed : tile<32xi32> -> tile<32xi64>
  %7 = exti %assume_3 signed : tile<i32> -> tile<i64>
  %reshape_17 = reshape %7 : tile<i64> -> tile<1xi64>
  %bcast_18 = broadcast %reshape_17 : tile<1xi64> -> tile<32xi64>
  %8 = cmpi less_than %6, %bcast_18, unsigned : tile<32xi64> -> tile<32xi1>
  %9 = exti %assume_4 signed : tile<i32> -> tile<i64>
  %reshape_19 = reshape %9 : tile<i64> -> tile<1xi64>
  %bcast_20 = broadcast %reshape_19 : tile<1xi64> -> tile<32xi64>
  %10 = muli %6, %bcast_20 : tile<32xi64>
  %reshape_21 = reshape %arg5 : tile<ptr<f32>> -> tile<1xptr<f32>>
  %bcast_22 = broadcast %reshape_21 : tile<1xptr<f32>> -> tile<32xptr<f32>>
  %11 = offset %bcast_22, %10 : tile<32xptr<f32>>, tile<32xi64> -> tile<32xptr<f32>>
  %12 = andi %8, %5 : tile<32xi1>
  %reshape_23 = reshape %cst_f32 : tile<f32> -> tile<1xf32>
  %bcast_24 = broadcast %reshape_23 : tile<1xf32> -> tile<32xf32>
  %result, %result_token = load_ptr_tko weak %11, %12, %bcast_24 token=%0 : tile<32xptr<f32>>, tile<32xi1>, tile<32xf32> -> tile<32xf32>, token
  %13 = join_tokens %0, %result_token : token
  %14 = itof %reduce_14#1 signed  : tile<32xi32> -> tile<32xf32>
  %15 = addf %result, %14  : tile<32xf32>
  %16 = cmpi greater_than %4, %cst_2_i32, signed : tile<32xi32> -> tile<32xi1>
  %17 = exti %4 signed : tile<32xi32> -> tile<32xi64>
  %18 = exti %assume_3 signed : tile<i32> -> tile<i64>
  %reshape_25 = reshape %18 : tile<i64> -> tile<1xi64>
  %bcast_26 = broadcast %reshape_25 : tile<1xi64> -> tile<32xi64>
  %19 = cmpi less_than %17, %bcast_26, unsigned : tile<32xi64> -> tile<32xi1>
  %20 = exti %assume_4 signed : tile<i32> -> tile<i64>
  %reshape_27 = reshape %20 : tile<i64> -> tile<1xi64>
  %bcast_28 = broadcast %reshape_27 : tile<1xi64> -> tile<32xi64>
  %21 = muli %17, %bcast_28 : tile<32xi64>
  %reshape_29 = reshape %arg5 : tile<ptr<f32>> -> tile<1xptr<f32>>
  %bcast_30 = broadcast %reshape_29 : tile<1xptr<f32>> -> tile<32xptr<f32>>
  %22 = offset %bcast_30, %21 : tile<32xptr<f32>>, tile<32xi64> -> tile<32xptr<f32>>
  %23 = andi %19, %16 : tile<32xi1>
  %24 = store_ptr_tko weak %22, %15, %23 token=%13 : tile<32xptr<f32>>, tile<32xf32>, tile<32xi1> -> token
  %bcast_31 = broadcast %reshape_11 : tile<16x1xf32> -> tile<16x32xf32>
  %25 = cmpf greater_than ordered %1#0, %bcast_31 : tile<16x32xf32> -> tile<16x32xi1>
  %26 = sqrt %1#0  : tile<16x32xf32>
  %27 = select %25, %2, %26 : tile<16x32xi1>, tile<16x32xf32>
  %bcast_32 = broadcast %reshape_11 : tile<16x1xf32> -> tile<16x32xf32>
  %28 = divf %27, %bcast_32  : tile<16x32xf32>
  %cst_0_i32_33 = constant <i32: 0> : tile<i32>
  %cst_1_i32_34 = constant <i32: 1> : tile<i32>
  %29 = extract %28[%cst_0_i32_33, %cst_1_i32_34] : tile<16x32xf32> -> tile<16x16xf32>
  %30 = cat %29, %29 dim = 1 : tile<16x16xf32>, tile<16x16xf32> -> tile<16x32xf32>
  %31 = permute %30 [1, 0] : tile<16x32xf32> -> tile<32x16xf32>
  %reshape_35 = reshape %31 : tile<32x16xf32> -> tile<16x32xf32>
  %32 = exti %4 signed : tile<32xi32> -> tile<32xi64>
  %33 = exti %assume_3 signed : tile<i32> -> tile<i64>
  %reshape_36 = reshape %33 : tile<i64> -> tile<1xi64>
  %bcast_37 = broadcast %reshape_36 : tile<1xi64> -> tile<32xi64>
  %34 = cmpi less_than %32, %bcast_37, unsigned : tile<32xi64> -> tile<32xi1>
  %35 = exti %assume_4 signed : tile<i32> -> tile<i64>
  %reshape_38 = reshape %35 : tile<i64> -> tile<1xi64>
  %bcast_39 = broadcast %reshape_38 : tile<1xi64> -> tile<32xi64>
  %36 = muli %32, %bcast_39 : tile<32xi64>
  %reshape_40 = reshape %arg5 : tile<ptr<f32>> -> tile<1xptr<f32>>
  %bcast_41 = broadcast %reshape_40 : tile<1xptr<f32>> -> tile<32xptr<f32>>
  %37 = offset %bcast_41, %36 : tile<32xptr<f32>>, tile<32xi64> -> tile<32xptr<f32>>
  %38 = join_tokens %24, %for#1 : token
  %result_42, %result_token_43 = atomic_rmw_tko acq_rel device %37, addf, %result, %34 token=%38 : tile<32xptr<f32>>, tile<32xf32>, tile<32xi1> -> tile<32xf32>, token
  %39 = exti %4 signed : tile<32xi32> -> tile<32xi64>
  %40 = exti %assume_3 signed : tile<i32> -> tile<i64>
  %reshape_44 = reshape %40 : tile<i64> -> tile<1xi64>
  %bcast_45 = broadcast %reshape_44 : tile<1xi64> -> tile<32xi64>
  %41 = cmpi less_than %39, %bcast_45, unsigned : tile<32xi64> -> tile<32xi1>
  %42 = exti %assume_4 signed : tile<i32> -> tile<i64>
  %reshape_46 = reshape %42 : tile<i64> -> tile<1xi64>
  %bcast_47 = broadcast %reshape_46 : tile<1xi64> -> tile<32xi64>
  %43 = muli %39, %bcast_47 : tile<32xi64>
  %reshape_48 = reshape %arg5 : tile<ptr<f32>> -> tile<1xptr<f32>>
  %bcast_49 = broadcast %reshape_48 : tile<1xptr<f32>> -> tile<32xptr<f32>>
  %44 = offset %bcast_49, %43 : tile<32xptr<f32>>, tile<32xi64> -> tile<32xptr<f32>>
  %45 = join_tokens %result_token_43, %for#1 : token
  %result_50, %result_token_51 = atomic_cas_tko acq_rel device %44, %result, %result, %41 token=%45 : tile<32xptr<f32>>, tile<32xf32>, tile<32xi1> -> tile<32xf32>, token
  %cst_0_i32_52 = constant <i32: 0> : tile<i32>
  %46 = addf %reshape_35, %1#0  : tile<16x32xf32>
  %47 = ftof %46  : tile<16x32xf32> -> tile<16x32xf16>
  %pview_53 = make_partition_view %tview : partition_view<tile=(16x32), tensor_view<?x?xf16, strides=[?,1]>>
  %48 = join_tokens %for#1, %result_token_51 : token
  %49 = store_view_tko weak %47, %pview_53[%blockId_x, %cst_0_i32_52] token = %48 : tile<16x32xf16>, partition_view<tile=(16x32), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> token
  return
}
