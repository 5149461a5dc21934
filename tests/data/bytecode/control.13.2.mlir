entry @control(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<i32>>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<i32>) optimization_hints=<sm_80 = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<i32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %false = constant <i1: false> : tile<i1>
  %true = constant <i1: true> : tile<i1>
  %cst_1_i64 = constant <i64: 1> : tile<i64>
  %cst_1_i64_1 = constant <i64: 1> : tile<i64>
  %cst_1_i64_2 = constant <i64: 1> : tile<i64>
  %cst_1_i64_3 = constant <i64: 1> : tile<i64>
  %assume_4 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_4], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_5 = assume bounded<0, ?>, %arg4 : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] token = %0 : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %1 = join_tokens %0, %result_token : token
  %2 = iota : tile<64xi32>
  %reduce:2 = reduce %tile, %2 dim=0 identities=[0xFF800000 : f32, 0 : i32] : tile<64xf32>, tile<64xi32> -> tile<f32>, tile<i32> 
  (%reduce_lhs0: tile<f32>, %reduce_rhs0: tile<f32>, %reduce_lhs1: tile<i32>, %reduce_rhs1: tile<i32>) {
    %6 = cmpf greater_than ordered %reduce_lhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %7 = cmpf equal ordered %reduce_lhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %8 = cmpf not_equal unordered %reduce_lhs0, %reduce_lhs0 : tile<f32> -> tile<i1>
    %9 = cmpf not_equal unordered %reduce_rhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %10 = cmpf equal ordered %reduce_lhs0, %reduce_lhs0 : tile<f32> -> tile<i1>
    %11 = andi %10, %9 : tile<i1>
    %12 = ori %6, %11 : tile<i1>
    %13 = andi %8, %9 : tile<i1>
    %14 = ori %7, %13 : tile<i1>
    %15 = cmpi less_than %reduce_lhs1, %reduce_rhs1, signed : tile<i32> -> tile<i1>
    %16 = andi %14, %15 : tile<i1>
    %17 = ori %12, %16 : tile<i1>
    %18 = select %17, %reduce_lhs0, %reduce_rhs0 : tile<i1>, tile<f32>
    %19 = select %17, %reduce_lhs1, %reduce_rhs1 : tile<i1>, tile<i32>
    yield %18, %19 : tile<f32>, tile<i32>
  }
  %cst_0_i32_6 = constant <i32: 0> : tile<i32>
  %cst_0_i32_7 = constant <i32: 0> : tile<i32>
  %cst_1_i32_8 = constant <i32: 1> : tile<i32>
  %cst_50_i32 = constant <i32: 50> : tile<i32>
  %for:2 = for %loopIdx in (%cst_0_i32_7 to %arg6, step %cst_1_i32_8) : tile<i32> iter_values(%iterArg0 = %cst_0_i32_6, %iterArg1 = %false) -> (tile<i32>, tile<i1>) {
    if %iterArg1 {
      continue %iterArg0, %iterArg1 : tile<i32>, tile<i1>
    } else {
    }
    %6 = muli %loopIdx, %loopIdx : tile<i32>
    %7 = cmpi greater_than %6, %cst_50_i32, signed : tile<i32> -> tile<i1>
    if %7 {
      continue %iterArg0, %true : tile<i32>, tile<i1>
    } else {
    }
    %8 = addi %iterArg0, %loopIdx : tile<i32>
    continue %8, %iterArg1 : tile<i32>, tile<i1>
  }
  %3 = scan %tile dim=0 reverse=true identities=[0.000000e+00 : f32] : tile<64xf32> -> tile<64xf32> 
  (%arg7: tile<f32>, %arg8: tile<f32>) {
    %6 = addf %arg7, %arg8  : tile<f32>
    yield %6 : tile<f32>
  }
  %reduce_9 = reduce %3 dim=0 identities=[0.000000e+00 : f32] : tile<64xf32> -> tile<f32> 
  (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
    %6 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
    yield %6 : tile<f32>
  }
  %4 = ftoi %reduce_9 signed  : tile<f32> -> tile<i32>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_1_i32_10 = constant <i32: 1> : tile<i32>
  %5 = cmpi equal %blockId_x, %cst_1_i32_10, signed : tile<i32> -> tile<i1>
  if %5 {
    %blockId_x_11, %blockId_y_12, %blockId_z_13 = get_tile_block_id : tile<i32>
    %cst_0_i32_14 = constant <i32: 0> : tile<i32>
    %6 = addi %blockId_x_11, %cst_0_i32_14 : tile<i32>
    %7 = exti %6 signed : tile<i32> -> tile<i64>
    %8 = exti %assume_5 signed : tile<i32> -> tile<i64>
    %9 = cmpi less_than %7, %8, unsigned : tile<i64> -> tile<i1>
    %10 = muli %7, %cst_1_i64 : tile<i64>
    %11 = offset %assume_0, %10 : tile<ptr<i32>>, tile<i64> -> tile<ptr<i32>>
    %assume_15 = assume div_by<4>, %11 : tile<ptr<i32>>
    %12 = store_ptr_tko weak %assume_15, %reduce#1, %9 token=%0 : tile<ptr<i32>>, tile<i32>, tile<i1> -> token
    %cst_2_i64 = constant <i64: 2> : tile<i64>
    %13 = exti %assume_5 signed : tile<i32> -> tile<i64>
    %14 = cmpi less_than %cst_2_i64, %13, unsigned : tile<i64> -> tile<i1>
    %15 = muli %cst_2_i64, %cst_1_i64_1 : tile<i64>
    %16 = offset %assume_0, %15 : tile<ptr<i32>>, tile<i64> -> tile<ptr<i32>>
    %assume_16 = assume div_by<8>, %16 : tile<ptr<i32>>
    %17 = store_ptr_tko weak %assume_16, %for#0, %14 token=%12 : tile<ptr<i32>>, tile<i32>, tile<i1> -> token
  } else {
    %cst_0_i64 = constant <i64: 0> : tile<i64>
    %6 = exti %assume_5 signed : tile<i32> -> tile<i64>
    %7 = cmpi less_than %cst_0_i64, %6, unsigned : tile<i64> -> tile<i1>
    %8 = muli %cst_0_i64, %cst_1_i64_2 : tile<i64>
    %9 = offset %assume_0, %8 : tile<ptr<i32>>, tile<i64> -> tile<ptr<i32>>
    %assume_11 = assume div_by<16>, %9 : tile<ptr<i32>>
    %10 = store_ptr_tko weak %assume_11, %4, %7 token=%0 : tile<ptr<i32>>, tile<i32>, tile<i1> -> token
    %gridSize_x, %gridSize_y, %gridSize_z = get_num_tile_blocks : tile<i32>
    %cst_3_i64 = constant <i64: 3> : tile<i64>
    %11 = exti %assume_5 signed : tile<i32> -> tile<i64>
    %12 = cmpi less_than %cst_3_i64, %11, unsigned : tile<i64> -> tile<i1>
    %13 = muli %cst_3_i64, %cst_1_i64_3 : tile<i64>
    %14 = offset %assume_0, %13 : tile<ptr<i32>>, tile<i64> -> tile<ptr<i32>>
    %15 = join_tokens %10, %1 : token
    %result, %result_token_12 = atomic_rmw_tko acq_rel device %14, add, %gridSize_x, %12 token=%15 : tile<ptr<i32>>, tile<i32>, tile<i1> -> tile<i32>, token
  }
  return
}
