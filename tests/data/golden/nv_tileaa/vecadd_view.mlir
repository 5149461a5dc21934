"nv_tileaa.func"() <{module = "vecadd_view", names = ["a", "b", "c", "n"], sym_name = "vecadd_view"}> ({
^bb0(%arg0: !nv_tileaa.ptr<f32>, %arg1: !nv_tileaa.ptr<f32>, %arg2: !nv_tileaa.ptr<f32>, %arg3: i32):
  %0 = "nv_tileaa.create_mem_token"() : () -> !nv_tileaa.mem_token
  %1 = "nv_tileaa.assume"(%arg0) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %2 = "nv_tileaa.assume"(%arg1) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %3 = "nv_tileaa.assume"(%arg2) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %4 = "nv_tileaa.assume"(%arg3) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %5 = "nv_tileaa.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %6 = "nv_tileaa.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %7 = "nv_tileaa.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %8 = "nv_tileaa.make_memref"(%1, %4) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.memref<?xf32, strides=[1], global>
  %9 = "nv_tileaa.make_memref"(%2, %4) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.memref<?xf32, strides=[1], global>
  %10 = "nv_tileaa.make_memref"(%3, %4) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.memref<?xf32, strides=[1], global>
  %11 = "nv_tileaa.partition"(%8) : (!nv_tileaa.memref<?xf32, strides=[1], global>) -> !nv_tileaa.tiled_view<1024, !nv_tileaa.memref<?xf32, strides=[1], global>, padding=zero>
  %12 = "nv_tileaa.partition"(%9) : (!nv_tileaa.memref<?xf32, strides=[1], global>) -> !nv_tileaa.tiled_view<1024, !nv_tileaa.memref<?xf32, strides=[1], global>, padding=zero>
  %13 = "nv_tileaa.partition"(%10) : (!nv_tileaa.memref<?xf32, strides=[1], global>) -> !nv_tileaa.tiled_view<1024, !nv_tileaa.memref<?xf32, strides=[1], global>>
  %14:2 = "nv_tileaa.tiled_load"(%11, %5, %0) : (!nv_tileaa.tiled_view<1024, !nv_tileaa.memref<?xf32, strides=[1], global>, padding=zero>, i32, !nv_tileaa.mem_token) -> (tensor<1024xf32>, !nv_tileaa.mem_token)
  %15:2 = "nv_tileaa.tiled_load"(%12, %5, %0) : (!nv_tileaa.tiled_view<1024, !nv_tileaa.memref<?xf32, strides=[1], global>, padding=zero>, i32, !nv_tileaa.mem_token) -> (tensor<1024xf32>, !nv_tileaa.mem_token)
  %16 = "arith.addf"(%14#0, %15#0) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %17 = "nv_tileaa.tiled_store"(%16, %13, %5, %0) : (tensor<1024xf32>, !nv_tileaa.tiled_view<1024, !nv_tileaa.memref<?xf32, strides=[1], global>>, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  "nv_tileaa.return"() : () -> ()
}) : () -> ()
