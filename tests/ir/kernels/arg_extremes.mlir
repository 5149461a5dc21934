entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<i32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<ptr<i32>>, %arg9: tile<i32>, %arg10: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg5 : tile<ptr<i32>>
  %assume_1 = assume div_by<16>, %arg8 : tile<ptr<i32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_2 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_5 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_6 = assume bounded<0, ?>, %arg3 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_4, %assume_5], strides = [%assume_6, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_7 = assume bounded<0, ?>, %arg6 : tile<i32>
  %tview_8 = make_tensor_view %assume_0, shape = [%assume_7], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %assume_9 = assume bounded<0, ?>, %arg9 : tile<i32>
  %tview_10 = make_tensor_view %assume_1, shape = [%assume_9], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(8x64), tensor_view<?x?xf32, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x, %cst_0_i32] token = %0 : partition_view<tile=(8x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<8x64xf32>, token
  %blockId_x_11, %blockId_y_12, %blockId_z_13 = get_tile_block_id : tile<i32>
  %1 = iota : tile<64xi32>
  %reshape = reshape %1 : tile<64xi32> -> tile<1x64xi32>
  %bcast = broadcast %reshape : tile<1x64xi32> -> tile<8x64xi32>
  %reduce:2 = reduce %tile, %bcast dim=1 identities=[0x7F800000 : f32, 0 : i32] : tile<8x64xf32>, tile<8x64xi32> -> tile<8xf32>, tile<8xi32> 
  (%reduce_lhs0: tile<f32>, %reduce_rhs0: tile<f32>, %reduce_lhs1: tile<i32>, %reduce_rhs1: tile<i32>) {
    %5 = cmpf less_than ordered %reduce_lhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %6 = cmpf equal ordered %reduce_lhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %7 = cmpf not_equal unordered %reduce_lhs0, %reduce_lhs0 : tile<f32> -> tile<i1>
    %8 = cmpf not_equal unordered %reduce_rhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %9 = cmpf equal ordered %reduce_lhs0, %reduce_lhs0 : tile<f32> -> tile<i1>
    %10 = andi %9, %8 : tile<i1>
    %11 = ori %5, %10 : tile<i1>
    %12 = andi %7, %8 : tile<i1>
    %13 = ori %6, %12 : tile<i1>
    %14 = cmpi less_than %reduce_lhs1, %reduce_rhs1, signed : tile<i32> -> tile<i1>
    %15 = andi %13, %14 : tile<i1>
    %16 = ori %11, %15 : tile<i1>
    %17 = select %16, %reduce_lhs0, %reduce_rhs0 : tile<i1>, tile<f32>
    %18 = select %16, %reduce_lhs1, %reduce_rhs1 : tile<i1>, tile<i32>
    yield %17, %18 : tile<f32>, tile<i32>
  }
  %pview_14 = make_partition_view %tview_8 : partition_view<tile=(8), tensor_view<?xi32, strides=[1]>>
  %2 = store_view_tko weak %reduce#1, %pview_14[%blockId_x_11] token = %0 : tile<8xi32>, partition_view<tile=(8), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token
  %blockId_x_15, %blockId_y_16, %blockId_z_17 = get_tile_block_id : tile<i32>
  %3 = iota : tile<64xi32>
  %reshape_18 = reshape %3 : tile<64xi32> -> tile<1x64xi32>
  %bcast_19 = broadcast %reshape_18 : tile<1x64xi32> -> tile<8x64xi32>
  %reduce_20:2 = reduce %tile, %bcast_19 dim=1 identities=[0xFF800000 : f32, 0 : i32] : tile<8x64xf32>, tile<8x64xi32> -> tile<8xf32>, tile<8xi32> 
  (%reduce_lhs0: tile<f32>, %reduce_rhs0: tile<f32>, %reduce_lhs1: tile<i32>, %reduce_rhs1: tile<i32>) {
    %5 = cmpf greater_than ordered %reduce_lhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %6 = cmpf equal ordered %reduce_lhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %7 = cmpf not_equal unordered %reduce_lhs0, %reduce_lhs0 : tile<f32> -> tile<i1>
    %8 = cmpf not_equal unordered %reduce_rhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %9 = cmpf equal ordered %reduce_lhs0, %reduce_lhs0 : tile<f32> -> tile<i1>
    %10 = andi %9, %8 : tile<i1>
    %11 = ori %5, %10 : tile<i1>
    %12 = andi %7, %8 : tile<i1>
    %13 = ori %6, %12 : tile<i1>
    %14 = cmpi less_than %reduce_lhs1, %reduce_rhs1, signed : tile<i32> -> tile<i1>
    %15 = andi %13, %14 : tile<i1>
    %16 = ori %11, %15 : tile<i1>
    %17 = select %16, %reduce_lhs0, %reduce_rhs0 : tile<i1>, tile<f32>
    %18 = select %16, %reduce_lhs1, %reduce_rhs1 : tile<i1>, tile<i32>
    yield %17, %18 : tile<f32>, tile<i32>
  }
  %pview_21 = make_partition_view %tview_10 : partition_view<tile=(8), tensor_view<?xi32, strides=[1]>>
  %4 = store_view_tko weak %reduce_20#1, %pview_21[%blockId_x_15] token = %0 : tile<8xi32>, partition_view<tile=(8), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token
  return
}
