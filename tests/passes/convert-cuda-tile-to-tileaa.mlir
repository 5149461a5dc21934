// RUN: tilesat opt %s --passes convert-cuda-tile-to-tileaa | filecheck %s

// Tiles become tensors, accesses take memory tokens, arithmetic is upstream's.

// CHECK: "nv_tileaa.func"() <{{.*}}sym_name = "scale_rows"
// CHECK: ^bb0([[X:%.*]]: !nv_tileaa.ptr<f32>, [[F:%.*]]: f32, [[N:%.*]]: i32):
// CHECK: [[TOKEN:%.*]] = "nv_tileaa.create_mem_token"
// CHECK: [[MEM:%.*]] = "nv_tileaa.make_memref"([[X]], [[N]])
// CHECK: [[TILES:%.*]] = "nv_tileaa.partition"([[MEM]])
// CHECK: [[LOADED:%.*]]:2 = "nv_tileaa.tiled_load"([[TILES]], {{.*}}, [[TOKEN]]) {{.*}}tensor<8x64xf32>
// CHECK: [[SCALED:%.*]] = "arith.mulf"([[LOADED]]#0,
// CHECK: "nv_tileaa.tiled_store"([[SCALED]], [[TILES]], {{.*}}, [[LOADED]]#1)
// CHECK-NOT: cuda_tile

cuda_tile.module @m {
  entry @scale_rows(%x: tile<ptr<f32>>, %factor: tile<f32>, %rows: tile<i32>) {
    %start = make_token : token
    %zero = constant <i32: 0> : tile<i32>
    %b, %y, %z = get_tile_block_id : tile<i32>
    %all = make_tensor_view %x, shape = [%rows, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %tiles = make_partition_view %all : partition_view<tile=(8x64), tensor_view<?x64xf32, strides=[64,1]>>
    %v, %t = load_view_tko weak %tiles[%b, %zero] token = %start : partition_view<tile=(8x64), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<8x64xf32>, token
    %f1 = reshape %factor : tile<f32> -> tile<1x1xf32>
    %f = broadcast %f1 : tile<1x1xf32> -> tile<8x64xf32>
    %w = mulf %v, %f : tile<8x64xf32>
    %u = store_view_tko weak %w, %tiles[%b, %zero] token = %t : tile<8x64xf32>, partition_view<tile=(8x64), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}
