entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<i32>>, %arg6: tile<i32>, %arg7: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<i32>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<i32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_1 = constant <i32: 1> : tile<i32>
  %assume_2 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_3 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_2, %assume_3], strides = [%assume_4, 1] : tile<i32> -> tensor_view<?x?xi32, strides=[?,1]>
  %assume_5 = assume bounded<0, ?>, %arg6 : tile<i32>
  %tview_6 = make_tensor_view %assume_0, shape = [%assume_5], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %cst_0_i32_7 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(8x64), tensor_view<?x?xi32, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%cst_0_i32, %cst_0_i32_7] token = %0 : partition_view<tile=(8x64), tensor_view<?x?xi32, strides=[?,1]>>, tile<i32> -> tile<8x64xi32>, token
  %cst_0_i32_8 = constant <i32: 0> : tile<i32>
  %reduce = reduce %tile dim=1 identities=[0 : i32] : tile<8x64xi32> -> tile<8xi32> 
  (%reduce_lhs: tile<i32>, %reduce_rhs: tile<i32>) {
    %2 = addi %reduce_lhs, %reduce_rhs : tile<i32>
    yield %2 : tile<i32>
  }
  %pview_9 = make_partition_view %tview_6 : partition_view<tile=(8), tensor_view<?xi32, strides=[1]>>
  %1 = store_view_tko weak %reduce, %pview_9[%cst_0_i32_8] token = %0 : tile<8xi32>, partition_view<tile=(8), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token
  return
}
