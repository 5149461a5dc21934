// Vector addition by views: c[i] = a[i] + b[i] for i < n.
//
// A partition view cuts each vector into tiles of 1024; the last one may overhang: loads read zeros there and stores
// write nothing. Grid: (ceil(n / 1024), 1, 1).
cuda_tile.module @vecadd_view {
  entry @vecadd_view(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>) {
    %start = make_token : token
    %a_base = assume div_by<16>, %a : tile<ptr<f32>>
    %b_base = assume div_by<16>, %b : tile<ptr<f32>>
    %c_base = assume div_by<16>, %c : tile<ptr<f32>>
    %length = assume bounded<0, ?>, %n : tile<i32>
    %block, %block_y, %block_z = get_tile_block_id : tile<i32>

    %a_view = make_tensor_view %a_base, shape = [%length], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %b_view = make_tensor_view %b_base, shape = [%length], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %c_view = make_tensor_view %c_base, shape = [%length], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %a_tiles = make_partition_view %a_view : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
    %b_tiles = make_partition_view %b_view : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
    %c_tiles = make_partition_view %c_view : partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>

    %a_tile, %a_token = load_view_tko weak %a_tiles[%block] token = %start : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
    %b_tile, %b_token = load_view_tko weak %b_tiles[%block] token = %start : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
    %sum = addf %a_tile, %b_tile : tile<1024xf32>
    %done = store_view_tko weak %sum, %c_tiles[%block] token = %start : tile<1024xf32>, partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
    return
  }
}
