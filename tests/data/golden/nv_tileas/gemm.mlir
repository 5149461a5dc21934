"nv_tileas.func"() <{params = [{kind = "pointer", arg = 0 : i64, dtype = "f16"}, {kind = "pointer", arg = 1 : i64, dtype = "f16"}, {kind = "pointer", arg = 2 : i64, dtype = "f32"}, {kind = "pointer", arg = 3 : i64, dtype = "f32"}, {kind = "scalar", arg = 4 : i64, dtype = "i32"}, {kind = "scalar", arg = 5 : i64, dtype = "i32"}, {kind = "scalar", arg = 6 : i64, dtype = "i32"}, {kind = "scalar", arg = 7 : i64, dtype = "i32"}, {kind = "scalar", arg = 8 : i64, dtype = "i32"}, {kind = "scalar", arg = 9 : i64, dtype = "i32"}, {kind = "scalar", arg = 10 : i64, dtype = "i32"}], ranges = [array<i64: 4, 0, 2147483647, 1>, array<i64: 5, 0, 2147483647, 8>, array<i64: 6, 0, 2147483647, 8>, array<i64: 7, 0, 2147483647, 8>, array<i64: 8, 0, 2147483647, 8>, array<i64: 9, 0, 2147483647, 4>, array<i64: 10, 0, 2147483647, 4>], shared_bytes = 131072 : i64, sym_name = "gemm", target = "sm_80", warps = 4 : i64}> ({
^bb0(%arg0: !llvm.ptr<1>, %arg1: !llvm.ptr<1>, %arg2: !llvm.ptr<1>, %arg3: !llvm.ptr<1>, %arg4: i32, %arg5: i32, %arg6: i32, %arg7: i32, %arg8: i32, %arg9: i32, %arg10: i32):
  %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %2 = "nv_tileas.make_memref"(%arg0, %arg4, %arg6, %arg7) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!llvm.ptr<1>, i32, i32, i32) -> !cuda_tile.tensor_view<?x?xf16, strides=[?,1]>
  %3 = "nv_tileas.partition"(%2) : (!cuda_tile.tensor_view<?x?xf16, strides=[?,1]>) -> !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %4:2 = "nv_tileas.index_space_shape"(%3) : (!cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>) -> (i32, i32)
  %5 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %6 = "nv_tileas.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32>}> : () -> tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>
  %7 = "nv_tileas.make_memref"(%arg1, %arg5, %arg6, %arg8) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!llvm.ptr<1>, i32, i32, i32) -> !cuda_tile.tensor_view<?x?xf16, strides=[?,1]>
  %8 = "nv_tileas.partition"(%7) : (!cuda_tile.tensor_view<?x?xf16, strides=[?,1]>) -> !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %9 = "nv_tileas.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %10 = "nv_tileas.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %11 = "nv_tileas.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %12 = "nv_tileas.alloc_tensor"() <{offset = 0 : i64, stage_bytes = 32768 : i64}> : () -> !nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>
  %13 = "nv_tileas.alloc_tensor"() <{offset = 16384 : i64, stage_bytes = 32768 : i64}> : () -> !nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>
  %14 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %15 = "arith.cmpi"(%1, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%12, %14, %15, %8, %10, %1) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.tiled_copy"(%13, %14, %15, %3, %9, %1) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %16 = "arith.addi"(%1, %5) : (i32, i32) -> i32
  %17 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %18 = "arith.cmpi"(%16, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%12, %17, %18, %8, %10, %16) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.tiled_copy"(%13, %17, %18, %3, %9, %16) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %19 = "arith.addi"(%16, %5) : (i32, i32) -> i32
  %20 = "arith.constant"() <{value = 2 : i32}> : () -> i32
  %21 = "arith.cmpi"(%19, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%12, %20, %21, %8, %10, %19) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.tiled_copy"(%13, %20, %21, %3, %9, %19) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %22 = "arith.addi"(%19, %5) : (i32, i32) -> i32
  %23 = "arith.constant"() <{value = 3 : i32}> : () -> i32
  %24:3 = "scf.for"(%1, %4#1, %5, %6, %0, %23) ({
  ^bb0(%arg11: i32, %arg12: tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>, %arg13: i32, %arg14: i32):
    "nv_tileas.async.wait"() <{pending = 2 : i64}> : () -> ()
    "nv_tileas.barrier"() : () -> ()
    %31 = "arith.constant"() <{value = 3 : i32}> : () -> i32
    %32 = "arith.muli"(%5, %31) : (i32, i32) -> i32
    %33 = "arith.addi"(%arg11, %32) : (i32, i32) -> i32
    %34 = "arith.cmpi"(%33, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "nv_tileas.async.tiled_copy"(%12, %arg14, %34, %8, %10, %33) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.tiled_copy"(%13, %arg14, %34, %3, %9, %33) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %35 = "nv_tileas.buffer_view"(%12, %arg13) : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32) -> tensor<128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>
    %36 = "nv_tileas.buffer_view"(%13, %arg13) : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32) -> tensor<128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>
    %37 = "nv_tileas.shared_load"(%35) <{atom = "ldmatrix"}> : (tensor<128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>) -> tensor<128x64xf16, #nv_tileas.linear<reg = [1, 8, 512, 1024, 2048, 16, 32], lane = [2, 4, 64, 128, 256], warp = [0, 4096], size = 8192>>
    %38 = "nv_tileas.permute"(%37) <{permutation = array<i64: 1, 0>}> : (tensor<128x64xf16, #nv_tileas.linear<reg = [1, 8, 512, 1024, 2048, 16, 32], lane = [2, 4, 64, 128, 256], warp = [0, 4096], size = 8192>>) -> tensor<64x128xf16, #nv_tileas.linear<reg = [128, 1024, 8, 16, 32, 2048, 4096], lane = [256, 512, 1, 2, 4], warp = [0, 64], size = 8192>>
    %39 = "nv_tileas.shared_load"(%36) <{atom = "ldmatrix"}> : (tensor<128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>) -> tensor<128x64xf16, #nv_tileas.linear<reg = [1, 512, 8, 16, 32, 1024, 2048], lane = [2, 4, 64, 128, 256], warp = [4096, 0], size = 8192>>
    %40 = "nv_tileas.dot"(%39, %38, %arg12) <{atom = "mma.sync.m16n8k16.f16.f16", grid = array<i64: 2, 2>}> : (tensor<128x64xf16, #nv_tileas.linear<reg = [1, 512, 8, 16, 32, 1024, 2048], lane = [2, 4, 64, 128, 256], warp = [4096, 0], size = 8192>>, tensor<64x128xf16, #nv_tileas.linear<reg = [128, 1024, 8, 16, 32, 2048, 4096], lane = [256, 512, 1, 2, 4], warp = [0, 64], size = 8192>>, tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>) -> tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>
    %41 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %42 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %43 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %44 = "arith.addi"(%arg13, %41) : (i32, i32) -> i32
    %45 = "arith.cmpi"(%44, %43) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %46 = "arith.select"(%45, %42, %44) : (i1, i32, i32) -> i32
    "scf.yield"(%40, %46, %arg13) : (tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>, i32, i32) -> ()
  }) : (i32, i32, i32, tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>, i32, i32) -> (tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>, i32, i32)
  "nv_tileas.async.wait"() <{pending = 0 : i64}> : () -> ()
  %25 = "nv_tileas.make_memref"(%arg2, %arg4, %arg5, %arg9) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!llvm.ptr<1>, i32, i32, i32) -> !cuda_tile.tensor_view<?x?xf32, strides=[?,1]>
  %26 = "nv_tileas.partition"(%25) : (!cuda_tile.tensor_view<?x?xf32, strides=[?,1]>) -> !cuda_tile.partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
  %27 = "nv_tileas.tiled_load"(%26, %9, %10) <{bytes = 8 : i64, evict = "evict_first"}> : (!cuda_tile.partition_view<tile=(128x128), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>
  %28 = "arith.addf"(%24#0, %27) : (tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>, tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>) -> tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>
  %29 = "nv_tileas.make_memref"(%arg3, %arg4, %arg5, %arg10) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!llvm.ptr<1>, i32, i32, i32) -> !cuda_tile.tensor_view<?x?xf32, strides=[?,1]>
  %30 = "nv_tileas.partition"(%29) : (!cuda_tile.tensor_view<?x?xf32, strides=[?,1]>) -> !cuda_tile.partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>
  "nv_tileas.tiled_store"(%28, %30, %9, %10) <{bytes = 8 : i64}> : (tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>, !cuda_tile.partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.return"() : () -> ()
}) : () -> ()
