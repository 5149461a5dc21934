entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<f32>>, %arg4: tile<i32>, %arg5: tile<i32>, %arg6: tile<ptr<f32>>, %arg7: tile<i32>, %arg8: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<i32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<f32>>
  %assume_1 = assume div_by<16>, %arg6 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i64 = constant <i64: 1> : tile<i64>
  %cst_1_i64_3 = constant <i64: 1> : tile<i64>
  %assume_4 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_5 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview = make_tensor_view %assume_0, shape = [%assume_5], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_6 = assume bounded<0, ?>, %arg7 : tile<i32>
  %tview_7 = make_tensor_view %assume_1, shape = [%assume_6], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_1_i32_8 = constant <i32: 1> : tile<i32>
  %cst_0_i64 = constant <i64: 0> : tile<i64>
  %1 = exti %assume_4 signed : tile<i32> -> tile<i64>
  %2 = cmpi less_than %cst_0_i64, %1, unsigned : tile<i64> -> tile<i1>
  %3 = muli %cst_0_i64, %cst_1_i64 : tile<i64>
  %4 = offset %assume, %3 : tile<ptr<i32>>, tile<i64> -> tile<ptr<i32>>
  %cst_1_i32_9 = constant <i32: 1> : tile<i32>
  %5:2 = loop iter_values(%arg9 = %0, %arg10 = %0) : token, token -> token, token {
    %18 = join_tokens %arg9, %arg10 : token
    %result_19, %result_token_20 = atomic_cas_tko acquire device %4, %cst_0_i32, %cst_1_i32_8, %2 token=%18 : tile<ptr<i32>>, tile<i32>, tile<i1> -> tile<i32>, token
    %19 = cmpi equal %result_19, %cst_1_i32_9, signed : tile<i32> -> tile<i1>
    if %19 {
    } else {
      break %result_token_20, %result_token_20 : token, token
    }
    continue %result_token_20, %result_token_20 : token, token
  }
  %cst_0_i32_10 = constant <i32: 0> : tile<i32>
  %cst_0_i32_11 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>
  %6 = join_tokens %0, %5#1 : token
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32_11] token = %6 : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<32xf32>, token
  %7 = join_tokens %0, %result_token : token
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %pview_12 = make_partition_view %tview_7 : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>
  %8 = join_tokens %0, %5#1 : token
  %tile_13, %result_token_14 = load_view_tko weak %pview_12[%blockId_x] token = %8 : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<32xf32>, token
  %9 = join_tokens %0, %result_token_14 : token
  %10 = addf %tile, %tile_13  : tile<32xf32>
  %pview_15 = make_partition_view %tview : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>
  %11 = join_tokens %7, %5#1 : token
  %12 = store_view_tko weak %10, %pview_15[%cst_0_i32_10] token = %11 : tile<32xf32>, partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  %cst_0_i32_16 = constant <i32: 0> : tile<i32>
  %cst_0_i64_17 = constant <i64: 0> : tile<i64>
  %13 = exti %assume_4 signed : tile<i32> -> tile<i64>
  %14 = cmpi less_than %cst_0_i64_17, %13, unsigned : tile<i64> -> tile<i1>
  %15 = muli %cst_0_i64_17, %cst_1_i64_3 : tile<i64>
  %16 = offset %assume, %15 : tile<ptr<i32>>, tile<i64> -> tile<ptr<i32>>
  %17 = join_tokens %5#0, %5#1, %12, %9 : token
  %result, %result_token_18 = atomic_rmw_tko release device %16, xchg, %cst_0_i32_16, %14 token=%17 : tile<ptr<i32>>, tile<i32>, tile<i1> -> tile<i32>, token
  return
}
