"nv_tileas.func"() <{params = [{kind = "pointer", arg = 0 : i64, dtype = "f32"}, {kind = "pointer", arg = 1 : i64, dtype = "f32"}, {kind = "pointer", arg = 2 : i64, dtype = "f32"}, {kind = "scalar", arg = 3 : i64, dtype = "i32"}], ranges = [array<i64: 3, 0, 2147483647, 1>], sym_name = "vecadd_view", target = "sm_80", warps = 4 : i64}> ({
^bb0(%arg0: !llvm.ptr<1>, %arg1: !llvm.ptr<1>, %arg2: !llvm.ptr<1>, %arg3: i32):
  %0 = "nv_tileas.make_memref"(%arg1, %arg3) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!llvm.ptr<1>, i32) -> !cuda_tile.tensor_view<?xf32, strides=[1]>
  %1 = "nv_tileas.partition"(%0) : (!cuda_tile.tensor_view<?xf32, strides=[1]>) -> !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %2 = "nv_tileas.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %3 = "nv_tileas.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %4 = "nv_tileas.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %5 = "nv_tileas.tiled_load"(%1, %2) <{bytes = 4 : i64}> : (!cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
  %6 = "nv_tileas.make_memref"(%arg0, %arg3) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!llvm.ptr<1>, i32) -> !cuda_tile.tensor_view<?xf32, strides=[1]>
  %7 = "nv_tileas.partition"(%6) : (!cuda_tile.tensor_view<?xf32, strides=[1]>) -> !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %8 = "nv_tileas.tiled_load"(%7, %2) <{bytes = 4 : i64}> : (!cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
  %9 = "arith.addf"(%8, %5) : (tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
  %10 = "nv_tileas.make_memref"(%arg2, %arg3) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!llvm.ptr<1>, i32) -> !cuda_tile.tensor_view<?xf32, strides=[1]>
  %11 = "nv_tileas.partition"(%10) : (!cuda_tile.tensor_view<?xf32, strides=[1]>) -> !cuda_tile.partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>
  "nv_tileas.tiled_store"(%9, %11, %2) <{bytes = 4 : i64}> : (tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, !cuda_tile.partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>, i32) -> ()
  "nv_tileas.return"() : () -> ()
}) : () -> ()
