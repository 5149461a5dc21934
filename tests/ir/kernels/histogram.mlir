entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<i32>>, %arg4: tile<i32>, %arg5: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<i32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<i32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_7_i32 = constant <i32: 7> : tile<32xi32>
  %cst_1_i64 = constant <i64: 1> : tile<32xi64>
  %cst_1_i32_1 = constant <i32: 1> : tile<32xi32>
  %assume_2 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_2], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_3 = assume bounded<0, ?>, %arg4 : tile<i32>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(32), tensor_view<?xi32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x] token = %0 : partition_view<tile=(32), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<32xi32>, token
  %1 = join_tokens %0, %result_token : token
  %2 = andi %tile, %cst_7_i32 : tile<32xi32>
  %3 = exti %2 signed : tile<32xi32> -> tile<32xi64>
  %4 = exti %assume_3 signed : tile<i32> -> tile<i64>
  %reshape = reshape %4 : tile<i64> -> tile<1xi64>
  %bcast = broadcast %reshape : tile<1xi64> -> tile<32xi64>
  %5 = cmpi less_than %3, %bcast, unsigned : tile<32xi64> -> tile<32xi1>
  %6 = muli %3, %cst_1_i64 : tile<32xi64>
  %reshape_4 = reshape %assume_0 : tile<ptr<i32>> -> tile<1xptr<i32>>
  %bcast_5 = broadcast %reshape_4 : tile<1xptr<i32>> -> tile<32xptr<i32>>
  %7 = offset %bcast_5, %6 : tile<32xptr<i32>>, tile<32xi64> -> tile<32xptr<i32>>
  %8 = join_tokens %0, %1 : token
  %result, %result_token_6 = atomic_rmw_tko acq_rel device %7, add, %cst_1_i32_1, %5 token=%8 : tile<32xptr<i32>>, tile<32xi32>, tile<32xi1> -> tile<32xi32>, token
  return
}
