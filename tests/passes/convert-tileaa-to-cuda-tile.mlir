// RUN: tilesat opt %s --passes convert-tileaa-to-cuda-tile | filecheck %s

// CHECK: entry @scale_rows(%[[X:.*]]: tile<ptr<f32>>, %[[F:.*]]: tile<f32>, %[[N:.*]]: tile<i32>)
// CHECK: make_partition_view {{.*}} : partition_view<tile=(8x64), tensor_view<?x64xf32, strides=[64,1]>>
// CHECK: [[V:%.*]], [[T:%.*]] = load_view_tko weak
// CHECK: [[W:%.*]] = mulf [[V]],
// CHECK: store_view_tko weak [[W]], {{.*}} token = [[T]]
// CHECK-NOT: nv_tileaa

"nv_tileaa.func"() <{names = ["x", "factor", "rows"], sym_name = "scale_rows"}> ({
^bb0(%arg0: !nv_tileaa.ptr<f32>, %arg1: f32, %arg2: i32):
  %0 = "nv_tileaa.create_mem_token"() : () -> !nv_tileaa.mem_token
  %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %2 = "nv_tileaa.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %3 = "nv_tileaa.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %4 = "nv_tileaa.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %5 = "nv_tileaa.make_memref"(%arg0, %arg2) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.memref<?x64xf32, strides=[64, 1], global>
  %6 = "nv_tileaa.partition"(%5) : (!nv_tileaa.memref<?x64xf32, strides=[64, 1], global>) -> !nv_tileaa.tiled_view<8x64, !nv_tileaa.memref<?x64xf32, strides=[64, 1], global>>
  %7:2 = "nv_tileaa.tiled_load"(%6, %2, %1, %0) : (!nv_tileaa.tiled_view<8x64, !nv_tileaa.memref<?x64xf32, strides=[64, 1], global>>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x64xf32>, !nv_tileaa.mem_token)
  %8 = "nv_tileaa.view"(%arg1) : (f32) -> tensor<1x1xf32>
  %9 = "nv_tileaa.broadcast"(%8) : (tensor<1x1xf32>) -> tensor<8x64xf32>
  %10 = "arith.mulf"(%7#0, %9) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %11 = "nv_tileaa.tiled_store"(%10, %6, %2, %1, %7#1) : (tensor<8x64xf32>, !nv_tileaa.tiled_view<8x64, !nv_tileaa.memref<?x64xf32, strides=[64, 1], global>>, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  "nv_tileaa.return"() : () -> ()
}) : () -> ()
