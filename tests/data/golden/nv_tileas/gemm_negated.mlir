"nv_tileas.func"() <{params = [{kind = "pointer", arg = 0 : i64, dtype = "f16"}, {kind = "pointer", arg = 1 : i64, dtype = "f16"}, {kind = "pointer", arg = 2 : i64, dtype = "f16"}, {kind = "pointer", arg = 3 : i64, dtype = "f32"}, {kind = "scalar", arg = 4 : i64, dtype = "i32"}, {kind = "scalar", arg = 5 : i64, dtype = "i32"}, {kind = "scalar", arg = 6 : i64, dtype = "i32"}, {kind = "scalar", arg = 7 : i64, dtype = "i32"}, {kind = "scalar", arg = 8 : i64, dtype = "i32"}, {kind = "scalar", arg = 9 : i64, dtype = "i32"}], ranges = [array<i64: 4, 0, 2147483647, 1>, array<i64: 5, 0, 2147483647, 8>, array<i64: 6, 0, 2147483647, 8>, array<i64: 7, 0, 2147483647, 8>, array<i64: 8, 0, 2147483647, 8>, array<i64: 9, 0, 2147483647, 4>], shared_bytes = 131072 : i64, sym_name = "gemm_negated", target = "sm_80", warps = 4 : i64}> ({
^bb0(%arg0: !llvm.ptr<1>, %arg1: !llvm.ptr<1>, %arg2: !llvm.ptr<1>, %arg3: !llvm.ptr<1>, %arg4: i32, %arg5: i32, %arg6: i32, %arg7: i32, %arg8: i32, %arg9: i32):
  %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %2 = "nv_tileas.make_memref"(%arg0, %arg4, %arg6, %arg7) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!llvm.ptr<1>, i32, i32, i32) -> !cuda_tile.tensor_view<?x?xf16, strides=[?,1]>
  %3 = "nv_tileas.partition"(%2) : (!cuda_tile.tensor_view<?x?xf16, strides=[?,1]>) -> !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %4:2 = "nv_tileas.index_space_shape"(%3) : (!cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>) -> (i32, i32)
  %5 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %6 = "nv_tileas.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32>}> : () -> tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>
  %7 = "nv_tileas.make_memref"(%arg2, %arg6) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!llvm.ptr<1>, i32) -> !cuda_tile.tensor_view<?xf16, strides=[1]>
  %8 = "nv_tileas.partition"(%7) : (!cuda_tile.tensor_view<?xf16, strides=[1]>) -> !cuda_tile.partition_view<tile=(64), padding_value = zero, tensor_view<?xf16, strides=[1]>>
  %9 = "nv_tileas.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %10 = "nv_tileas.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %11 = "nv_tileas.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %12 = "nv_tileas.make_memref"(%arg1, %arg5, %arg6, %arg8) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!llvm.ptr<1>, i32, i32, i32) -> !cuda_tile.tensor_view<?x?xf16, strides=[?,1]>
  %13 = "nv_tileas.partition"(%12) : (!cuda_tile.tensor_view<?x?xf16, strides=[?,1]>) -> !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %14 = "nv_tileas.alloc_tensor"() <{offset = 0 : i64, stage_bytes = 32768 : i64}> : () -> !nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>
  %15 = "nv_tileas.alloc_tensor"() <{offset = 16384 : i64, stage_bytes = 32768 : i64}> : () -> !nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>
  %16 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %17 = "arith.cmpi"(%1, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%14, %16, %17, %3, %9, %1) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.tiled_copy"(%15, %16, %17, %13, %10, %1) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %18 = "arith.addi"(%1, %5) : (i32, i32) -> i32
  %19 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %20 = "arith.cmpi"(%18, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%14, %19, %20, %3, %9, %18) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.tiled_copy"(%15, %19, %20, %13, %10, %18) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %21 = "arith.addi"(%18, %5) : (i32, i32) -> i32
  %22 = "arith.constant"() <{value = 2 : i32}> : () -> i32
  %23 = "arith.cmpi"(%21, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%14, %22, %23, %3, %9, %21) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.tiled_copy"(%15, %22, %23, %13, %10, %21) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %24 = "arith.addi"(%21, %5) : (i32, i32) -> i32
  %25 = "arith.constant"() <{value = 3 : i32}> : () -> i32
  %26:3 = "scf.for"(%1, %4#1, %5, %6, %0, %25) ({
  ^bb0(%arg10: i32, %arg11: tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>, %arg12: i32, %arg13: i32):
    "nv_tileas.async.wait"() <{pending = 2 : i64}> : () -> ()
    "nv_tileas.barrier"() : () -> ()
    %29 = "arith.constant"() <{value = 3 : i32}> : () -> i32
    %30 = "arith.muli"(%5, %29) : (i32, i32) -> i32
    %31 = "arith.addi"(%arg10, %30) : (i32, i32) -> i32
    %32 = "arith.cmpi"(%31, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "nv_tileas.async.tiled_copy"(%14, %arg13, %32, %3, %9, %31) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.tiled_copy"(%15, %arg13, %32, %13, %10, %31) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], size = 8192>}> : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32, i1, !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %33 = "nv_tileas.buffer_view"(%14, %arg12) : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32) -> tensor<128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>
    %34 = "nv_tileas.buffer_view"(%15, %arg12) : (!nv_tileas.smem<4x128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, i32) -> tensor<128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>
    %35 = "nv_tileas.tiled_load"(%8, %arg10) <{bytes = 4 : i64}> : (!cuda_tile.partition_view<tile=(64), padding_value = zero, tensor_view<?xf16, strides=[1]>>, i32) -> tensor<64xf16, #nv_tileas.linear<reg = [1, 8, 16, 32], lane = [2, 4, 0, 0, 0], warp = [0, 0], size = 64>>
    %36 = "arith.negf"(%35) : (tensor<64xf16, #nv_tileas.linear<reg = [1, 8, 16, 32], lane = [2, 4, 0, 0, 0], warp = [0, 0], size = 64>>) -> tensor<64xf16, #nv_tileas.linear<reg = [1, 8, 16, 32], lane = [2, 4, 0, 0, 0], warp = [0, 0], size = 64>>
    %37 = "nv_tileas.reshape"(%36) : (tensor<64xf16, #nv_tileas.linear<reg = [1, 8, 16, 32], lane = [2, 4, 0, 0, 0], warp = [0, 0], size = 64>>) -> tensor<1x64xf16, #nv_tileas.linear<reg = [1, 8, 16, 32], lane = [2, 4, 0, 0, 0], warp = [0, 0], size = 64>>
    %38 = "nv_tileas.broadcast"(%37) : (tensor<1x64xf16, #nv_tileas.linear<reg = [1, 8, 16, 32], lane = [2, 4, 0, 0, 0], warp = [0, 0], size = 64>>) -> tensor<128x64xf16, #nv_tileas.linear<reg = [1, 512, 8, 16, 32, 1024, 2048], lane = [2, 4, 64, 128, 256], warp = [4096, 0], size = 8192>>
    %39 = "nv_tileas.shared_load"(%33) <{atom = "ldmatrix"}> : (tensor<128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>) -> tensor<128x64xf16, #nv_tileas.linear<reg = [1, 512, 8, 16, 32, 1024, 2048], lane = [2, 4, 64, 128, 256], warp = [4096, 0], size = 8192>>
    %40 = "arith.mulf"(%39, %38) : (tensor<128x64xf16, #nv_tileas.linear<reg = [1, 512, 8, 16, 32, 1024, 2048], lane = [2, 4, 64, 128, 256], warp = [4096, 0], size = 8192>>, tensor<128x64xf16, #nv_tileas.linear<reg = [1, 512, 8, 16, 32, 1024, 2048], lane = [2, 4, 64, 128, 256], warp = [4096, 0], size = 8192>>) -> tensor<128x64xf16, #nv_tileas.linear<reg = [1, 512, 8, 16, 32, 1024, 2048], lane = [2, 4, 64, 128, 256], warp = [4096, 0], size = 8192>>
    %41 = "nv_tileas.shared_load"(%34) <{atom = "ldmatrix"}> : (tensor<128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>) -> tensor<128x64xf16, #nv_tileas.linear<reg = [1, 8, 512, 1024, 2048, 16, 32], lane = [2, 4, 64, 128, 256], warp = [0, 4096], size = 8192>>
    %42 = "nv_tileas.permute"(%41) <{permutation = array<i64: 1, 0>}> : (tensor<128x64xf16, #nv_tileas.linear<reg = [1, 8, 512, 1024, 2048, 16, 32], lane = [2, 4, 64, 128, 256], warp = [0, 4096], size = 8192>>) -> tensor<64x128xf16, #nv_tileas.linear<reg = [128, 1024, 8, 16, 32, 2048, 4096], lane = [256, 512, 1, 2, 4], warp = [0, 64], size = 8192>>
    %43 = "nv_tileas.dot"(%40, %42, %arg11) <{atom = "mma.sync.m16n8k16.f16.f16", grid = array<i64: 2, 2>}> : (tensor<128x64xf16, #nv_tileas.linear<reg = [1, 512, 8, 16, 32, 1024, 2048], lane = [2, 4, 64, 128, 256], warp = [4096, 0], size = 8192>>, tensor<64x128xf16, #nv_tileas.linear<reg = [128, 1024, 8, 16, 32, 2048, 4096], lane = [256, 512, 1, 2, 4], warp = [0, 64], size = 8192>>, tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>) -> tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>
    %44 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %45 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %46 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %47 = "arith.addi"(%arg12, %44) : (i32, i32) -> i32
    %48 = "arith.cmpi"(%47, %46) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %49 = "arith.select"(%48, %45, %47) : (i1, i32, i32) -> i32
    "scf.yield"(%43, %49, %arg12) : (tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>, i32, i32) -> ()
  }) : (i32, i32, i32, tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>, i32, i32) -> (tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>, i32, i32)
  "nv_tileas.async.wait"() <{pending = 0 : i64}> : () -> ()
  %27 = "nv_tileas.make_memref"(%arg3, %arg4, %arg5, %arg9) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!llvm.ptr<1>, i32, i32, i32) -> !cuda_tile.tensor_view<?x?xf32, strides=[?,1]>
  %28 = "nv_tileas.partition"(%27) : (!cuda_tile.tensor_view<?x?xf32, strides=[?,1]>) -> !cuda_tile.partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>
  "nv_tileas.tiled_store"(%26#0, %28, %9, %10) <{bytes = 8 : i64}> : (tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 2048, 4096], lane = [2, 4, 128, 256, 512], warp = [8192, 64], size = 16384>>, !cuda_tile.partition_view<tile=(128x128), tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.return"() : () -> ()
}) : () -> ()
