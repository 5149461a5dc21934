// RUN: tilesat opt %s --passes pack-half-bytes | filecheck %s
// RUN: tilesat opt %s --passes pack-half-bytes --pass-statistics 2>&1 | filecheck %s --check-prefix COUNT

// A tile of f4E2M1FN is loaded as half as many bytes, unpacked, packed and stored; sizes and strides are halved.

// CHECK: assume div_by<2>, %arg1
// CHECK: divi
// CHECK: ptr_to_ptr
// CHECK: tensor_view<64x?xi8, strides=[?,1]>
// CHECK: partition_view<tile=(16x16)
// CHECK: load_view_tko {{.*}} -> tile<16x16xi8>
// CHECK: unpack {{.*}} -> tile<512xf4E2M1FN>
// CHECK: pack {{.*}} -> tile<256xi8>
// CHECK: store_view_tko {{.*}} tile<16x16xi8>
// COUNT: pack-half-bytes {{ *}}2 loads and stores of f4E2M1FN that it turned into those of bytes

cuda_tile.module @m {
  entry @copy(%x: tile<ptr<f4E2M1FN>>, %n: tile<i32>) {
    %start = make_token : token
    %view = make_tensor_view %x, shape = [64, %n], strides = [%n, 1] : tile<i32> -> tensor_view<64x?xf4E2M1FN, strides=[?,1]>
    %tiles = make_partition_view %view : partition_view<tile=(16x32), tensor_view<64x?xf4E2M1FN, strides=[?,1]>>
    %i, %j, %k = get_tile_block_id : tile<i32>
    %tile, %t = load_view_tko weak %tiles[%i, %j] token = %start : partition_view<tile=(16x32), tensor_view<64x?xf4E2M1FN, strides=[?,1]>>, tile<i32> -> tile<16x32xf4E2M1FN>, token
    %u = store_view_tko weak %tile, %tiles[%j, %i] token = %t : tile<16x32xf4E2M1FN>, partition_view<tile=(16x32), tensor_view<64x?xf4E2M1FN, strides=[?,1]>>, tile<i32> -> token
    return
  }
}
