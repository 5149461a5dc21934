"nv_tileas.func"() <{params = [{kind = "pointer", arg = 0 : i64, dtype = "f32"}, {kind = "pointer", arg = 1 : i64, dtype = "f32"}, {kind = "pointer", arg = 2 : i64, dtype = "f32"}, {kind = "pointer", arg = 3 : i64, dtype = "f32"}, {kind = "scalar", arg = 4 : i64, dtype = "i32"}, {kind = "scalar", arg = 5 : i64, dtype = "i32"}, {kind = "scalar", arg = 6 : i64, dtype = "i32"}, {kind = "scalar", arg = 7 : i64, dtype = "i32"}, {kind = "scalar", arg = 8 : i64, dtype = "f32"}], ranges = [array<i64: 4, 0, 2147483647, 1>, array<i64: 5, 0, 2147483647, 1>, array<i64: 6, 0, 2147483647, 4>, array<i64: 7, 0, 2147483647, 4>], shared_bytes = 24576 : i64, sym_name = "layernorm", target = "sm_80", warps = 4 : i64}> ({
^bb0(%arg0: !llvm.ptr<1>, %arg1: !llvm.ptr<1>, %arg2: !llvm.ptr<1>, %arg3: !llvm.ptr<1>, %arg4: i32, %arg5: i32, %arg6: i32, %arg7: i32, %arg8: f32):
  %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %2 = "nv_tileas.make_memref"(%arg0, %arg4, %arg5, %arg6) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!llvm.ptr<1>, i32, i32, i32) -> !cuda_tile.tensor_view<?x?xf32, strides=[?,1]>
  %3 = "nv_tileas.partition"(%2) : (!cuda_tile.tensor_view<?x?xf32, strides=[?,1]>) -> !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
  %4:2 = "nv_tileas.index_space_shape"(%3) : (!cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>) -> (i32, i32)
  %5 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %6 = "nv_tileas.constant"() <{value = dense<0.000000e+00> : tensor<1x1024xf32>}> : () -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
  %7 = "nv_tileas.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %8 = "nv_tileas.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %9 = "nv_tileas.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %10 = "nv_tileas.alloc_tensor"() <{offset = 0 : i64, stage_bytes = 4096 : i64}> : () -> !nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
  %11 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %12 = "arith.cmpi"(%1, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%10, %11, %12, %3, %7, %1) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %13 = "arith.addi"(%1, %5) : (i32, i32) -> i32
  %14 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %15 = "arith.cmpi"(%13, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%10, %14, %15, %3, %7, %13) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %16 = "arith.addi"(%13, %5) : (i32, i32) -> i32
  %17 = "arith.constant"() <{value = 2 : i32}> : () -> i32
  %18 = "arith.cmpi"(%16, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%10, %17, %18, %3, %7, %16) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %19 = "arith.addi"(%16, %5) : (i32, i32) -> i32
  %20 = "arith.constant"() <{value = 3 : i32}> : () -> i32
  %21 = "arith.cmpi"(%19, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%10, %20, %21, %3, %7, %19) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %22 = "arith.addi"(%19, %5) : (i32, i32) -> i32
  %23 = "arith.constant"() <{value = 4 : i32}> : () -> i32
  %24 = "arith.cmpi"(%22, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%10, %23, %24, %3, %7, %22) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %25 = "arith.addi"(%22, %5) : (i32, i32) -> i32
  %26 = "arith.constant"() <{value = 5 : i32}> : () -> i32
  %27:3 = "scf.for"(%1, %4#1, %5, %6, %0, %26) ({
  ^bb0(%arg9: i32, %arg10: tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, %arg11: i32, %arg12: i32):
    "nv_tileas.async.wait"() <{pending = 4 : i64}> : () -> ()
    "nv_tileas.barrier"() : () -> ()
    %111 = "arith.constant"() <{value = 5 : i32}> : () -> i32
    %112 = "arith.muli"(%5, %111) : (i32, i32) -> i32
    %113 = "arith.addi"(%arg9, %112) : (i32, i32) -> i32
    %114 = "arith.cmpi"(%113, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "nv_tileas.async.tiled_copy"(%10, %arg12, %114, %3, %7, %113) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %115 = "nv_tileas.buffer_view"(%10, %arg11) : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32) -> tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
    %116 = "nv_tileas.shared_load"(%115) <{atom = "ldmatrix"}> : (tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %117 = "arith.addf"(%arg10, %116) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %118 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %119 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %120 = "arith.constant"() <{value = 6 : i32}> : () -> i32
    %121 = "arith.addi"(%arg11, %118) : (i32, i32) -> i32
    %122 = "arith.cmpi"(%121, %120) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %123 = "arith.select"(%122, %119, %121) : (i1, i32, i32) -> i32
    "scf.yield"(%117, %123, %arg11) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, i32, i32) -> ()
  }) : (i32, i32, i32, tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, i32, i32) -> (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, i32, i32)
  "nv_tileas.async.wait"() <{pending = 0 : i64}> : () -> ()
  %28 = "nv_tileas.constant"() <{value = dense<0.000000e+00> : tensor<1x1024xf32>}> : () -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
  %29 = "nv_tileas.reduce"(%27#0) <{dim = 1 : i64, identities = [0.000000e+00 : f64]}> ({
  ^bb0(%arg9: f32, %arg10: f32):
    %111 = "arith.addf"(%arg9, %arg10) : (f32, f32) -> f32
    "tilesat.scf.yield"(%111) : (f32) -> ()
  }) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %30 = "nv_tileas.reshape"(%29) : (tensor<1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %31 = "arith.sitofp"(%arg5) : (i32) -> f32
  %32 = "nv_tileas.reshape"(%31) : (f32) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %33 = "arith.divf"(%30, %32) : (tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>, tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %34 = "nv_tileas.broadcast"(%33) : (tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
  %35 = "nv_tileas.iota"() : () -> tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
  %36 = "arith.constant"() <{value = 1024 : i32}> : () -> i32
  %37 = "nv_tileas.reshape"(%arg5) : (i32) -> tensor<1xi32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %38 = "nv_tileas.broadcast"(%37) : (tensor<1xi32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
  %39 = "nv_tileas.alloc_tensor"() <{offset = 0 : i64, stage_bytes = 4096 : i64}> : () -> !nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
  "nv_tileas.barrier"() : () -> ()
  %40 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %41 = "arith.cmpi"(%1, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%39, %40, %41, %3, %7, %1) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %42 = "arith.addi"(%1, %5) : (i32, i32) -> i32
  %43 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %44 = "arith.cmpi"(%42, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%39, %43, %44, %3, %7, %42) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %45 = "arith.addi"(%42, %5) : (i32, i32) -> i32
  %46 = "arith.constant"() <{value = 2 : i32}> : () -> i32
  %47 = "arith.cmpi"(%45, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%39, %46, %47, %3, %7, %45) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %48 = "arith.addi"(%45, %5) : (i32, i32) -> i32
  %49 = "arith.constant"() <{value = 3 : i32}> : () -> i32
  %50 = "arith.cmpi"(%48, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%39, %49, %50, %3, %7, %48) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %51 = "arith.addi"(%48, %5) : (i32, i32) -> i32
  %52 = "arith.constant"() <{value = 4 : i32}> : () -> i32
  %53 = "arith.cmpi"(%51, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%39, %52, %53, %3, %7, %51) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %54 = "arith.addi"(%51, %5) : (i32, i32) -> i32
  %55 = "arith.constant"() <{value = 5 : i32}> : () -> i32
  %56 = "arith.extsi"(%1) : (i32) -> i64
  %57 = "arith.extsi"(%4#1) : (i32) -> i64
  %58 = "arith.constant"() <{value = -6144 : i64}> : () -> i64
  %59 = "arith.extsi"(%arg5) : (i32) -> i64
  %60 = "arith.constant"() <{value = 1 : i64}> : () -> i64
  %61 = "arith.muli"(%59, %60) : (i64, i64) -> i64
  %62 = "arith.addi"(%58, %61) : (i64, i64) -> i64
  %63 = "arith.constant"() <{value = 10 : i64}> : () -> i64
  %64 = "arith.shrsi"(%62, %63) : (i64, i64) -> i64
  %65 = "arith.constant"() <{value = 1 : i64}> : () -> i64
  %66 = "arith.addi"(%64, %65) : (i64, i64) -> i64
  %67 = "arith.minsi"(%57, %66) : (i64, i64) -> i64
  %68 = "arith.constant"() <{value = -1024 : i64}> : () -> i64
  %69 = "arith.extsi"(%arg5) : (i32) -> i64
  %70 = "arith.constant"() <{value = 1 : i64}> : () -> i64
  %71 = "arith.muli"(%69, %70) : (i64, i64) -> i64
  %72 = "arith.addi"(%68, %71) : (i64, i64) -> i64
  %73 = "arith.constant"() <{value = 10 : i64}> : () -> i64
  %74 = "arith.shrsi"(%72, %73) : (i64, i64) -> i64
  %75 = "arith.constant"() <{value = 1 : i64}> : () -> i64
  %76 = "arith.addi"(%74, %75) : (i64, i64) -> i64
  %77 = "arith.minsi"(%67, %76) : (i64, i64) -> i64
  %78 = "arith.maxsi"(%57, %56) : (i64, i64) -> i64
  %79 = "arith.minsi"(%56, %78) : (i64, i64) -> i64
  %80 = "arith.maxsi"(%79, %56) : (i64, i64) -> i64
  %81 = "arith.maxsi"(%77, %80) : (i64, i64) -> i64
  %82 = "arith.maxsi"(%57, %56) : (i64, i64) -> i64
  %83 = "arith.minsi"(%81, %82) : (i64, i64) -> i64
  %84 = "arith.maxsi"(%83, %56) : (i64, i64) -> i64
  %85 = "arith.trunci"(%80) : (i64) -> i32
  %86 = "arith.trunci"(%84) : (i64) -> i32
  %87:3 = "scf.for"(%1, %86, %5, %28, %0, %55) ({
  ^bb0(%arg9: i32, %arg10: tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, %arg11: i32, %arg12: i32):
    "nv_tileas.async.wait"() <{pending = 4 : i64}> : () -> ()
    "nv_tileas.barrier"() : () -> ()
    %111 = "arith.constant"() <{value = 5 : i32}> : () -> i32
    %112 = "arith.muli"(%5, %111) : (i32, i32) -> i32
    %113 = "arith.addi"(%arg9, %112) : (i32, i32) -> i32
    %114 = "arith.cmpi"(%113, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "nv_tileas.async.tiled_copy"(%39, %arg12, %114, %3, %7, %113) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %115 = "nv_tileas.buffer_view"(%39, %arg11) : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32) -> tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
    %116 = "nv_tileas.shared_load"(%115) <{atom = "ld.shared"}> : (tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %117 = "arith.subf"(%116, %34) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %118 = "math.fma"(%117, %117, %arg10) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %119 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %120 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %121 = "arith.constant"() <{value = 6 : i32}> : () -> i32
    %122 = "arith.addi"(%arg11, %119) : (i32, i32) -> i32
    %123 = "arith.cmpi"(%122, %121) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %124 = "arith.select"(%123, %120, %122) : (i1, i32, i32) -> i32
    "scf.yield"(%118, %124, %arg11) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, i32, i32) -> ()
  }) : (i32, i32, i32, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, i32, i32) -> (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, i32, i32)
  %88:3 = "scf.for"(%86, %4#1, %5, %87#0, %87#1, %87#2) ({
  ^bb0(%arg9: i32, %arg10: tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, %arg11: i32, %arg12: i32):
    "nv_tileas.async.wait"() <{pending = 4 : i64}> : () -> ()
    "nv_tileas.barrier"() : () -> ()
    %111 = "arith.constant"() <{value = 5 : i32}> : () -> i32
    %112 = "arith.muli"(%5, %111) : (i32, i32) -> i32
    %113 = "arith.addi"(%arg9, %112) : (i32, i32) -> i32
    %114 = "arith.cmpi"(%113, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "nv_tileas.async.tiled_copy"(%39, %arg12, %114, %3, %7, %113) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %115 = "nv_tileas.buffer_view"(%39, %arg11) : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32) -> tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
    %116 = "nv_tileas.shared_load"(%115) <{atom = "ld.shared"}> : (tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %117 = "arith.subf"(%116, %34) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %118 = "arith.muli"(%arg9, %36) : (i32, i32) -> i32
    %119 = "nv_tileas.reshape"(%118) : (i32) -> tensor<1xi32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
    %120 = "nv_tileas.broadcast"(%119) : (tensor<1xi32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %121 = "arith.addi"(%120, %35) : (tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %122 = "arith.cmpi"(%121, %38) <{predicate = 2 : i64}> : (tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1024xi1, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %123 = "nv_tileas.reshape"(%122) : (tensor<1024xi1, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1x1024xi1, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %124 = "arith.select"(%123, %117, %28) : (tensor<1x1024xi1, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %125 = "math.fma"(%124, %124, %arg10) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %126 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %127 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %128 = "arith.constant"() <{value = 6 : i32}> : () -> i32
    %129 = "arith.addi"(%arg11, %126) : (i32, i32) -> i32
    %130 = "arith.cmpi"(%129, %128) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %131 = "arith.select"(%130, %127, %129) : (i1, i32, i32) -> i32
    "scf.yield"(%125, %131, %arg11) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, i32, i32) -> ()
  }) : (i32, i32, i32, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, i32, i32) -> (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, i32, i32)
  "nv_tileas.async.wait"() <{pending = 0 : i64}> : () -> ()
  %89 = "nv_tileas.broadcast"(%33) : (tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
  %90 = "nv_tileas.reduce"(%88#0) <{dim = 1 : i64, identities = [0.000000e+00 : f64], scratch = 512 : i64}> ({
  ^bb0(%arg9: f32, %arg10: f32):
    %111 = "arith.addf"(%arg9, %arg10) : (f32, f32) -> f32
    "tilesat.scf.yield"(%111) : (f32) -> ()
  }) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %91 = "nv_tileas.reshape"(%90) : (tensor<1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %92 = "arith.divf"(%91, %32) : (tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>, tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %93 = "nv_tileas.reshape"(%arg8) : (f32) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %94 = "arith.addf"(%92, %93) : (tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>, tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %95 = "math.rsqrt"(%94) : (tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %96 = "nv_tileas.broadcast"(%95) : (tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
  %97 = "nv_tileas.make_memref"(%arg2, %arg5) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!llvm.ptr<1>, i32) -> !cuda_tile.tensor_view<?xf32, strides=[1]>
  %98 = "nv_tileas.partition"(%97) : (!cuda_tile.tensor_view<?xf32, strides=[1]>) -> !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %99 = "nv_tileas.make_memref"(%arg1, %arg5) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!llvm.ptr<1>, i32) -> !cuda_tile.tensor_view<?xf32, strides=[1]>
  %100 = "nv_tileas.partition"(%99) : (!cuda_tile.tensor_view<?xf32, strides=[1]>) -> !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %101 = "nv_tileas.make_memref"(%arg3, %arg4, %arg5, %arg7) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!llvm.ptr<1>, i32, i32, i32) -> !cuda_tile.tensor_view<?x?xf32, strides=[?,1]>
  %102 = "nv_tileas.partition"(%101) : (!cuda_tile.tensor_view<?x?xf32, strides=[?,1]>) -> !cuda_tile.partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>
  %103 = "nv_tileas.alloc_tensor"() <{offset = 0 : i64, stage_bytes = 12288 : i64}> : () -> !nv_tileas.smem<2x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
  %104 = "nv_tileas.alloc_tensor"() <{offset = 4096 : i64, stage_bytes = 12288 : i64}> : () -> !nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
  %105 = "nv_tileas.alloc_tensor"() <{offset = 8192 : i64, stage_bytes = 12288 : i64}> : () -> !nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
  "nv_tileas.barrier"() : () -> ()
  %106 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %107 = "arith.cmpi"(%1, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%103, %106, %107, %3, %7, %1) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, skips = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<2x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.tiled_copy"(%104, %106, %107, %98, %1) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, ragged = true, skips = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
  "nv_tileas.async.tiled_copy"(%105, %106, %107, %100, %1) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, ragged = true, skips = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %108 = "arith.addi"(%1, %5) : (i32, i32) -> i32
  %109 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %110:2 = "scf.for"(%1, %4#1, %5, %0, %109) ({
  ^bb0(%arg9: i32, %arg10: i32, %arg11: i32):
    "nv_tileas.async.wait"() <{pending = 0 : i64}> : () -> ()
    "nv_tileas.barrier"() : () -> ()
    %111 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %112 = "arith.muli"(%5, %111) : (i32, i32) -> i32
    %113 = "arith.addi"(%arg9, %112) : (i32, i32) -> i32
    %114 = "arith.cmpi"(%113, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "nv_tileas.async.tiled_copy"(%103, %arg11, %114, %3, %7, %113) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, skips = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<2x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.tiled_copy"(%104, %arg11, %114, %98, %113) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, ragged = true, skips = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
    "nv_tileas.async.tiled_copy"(%105, %arg11, %114, %100, %113) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, ragged = true, skips = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %115 = "nv_tileas.buffer_view"(%103, %arg10) : (!nv_tileas.smem<2x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32) -> tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
    %116 = "nv_tileas.buffer_view"(%104, %arg10) : (!nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32) -> tensor<1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
    %117 = "nv_tileas.buffer_view"(%105, %arg10) : (!nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32) -> tensor<1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
    %118 = "nv_tileas.shared_load"(%115) <{atom = "ldmatrix"}> : (tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %119 = "arith.subf"(%118, %89) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %120 = "arith.mulf"(%119, %96) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %121 = "nv_tileas.shared_load"(%116) <{atom = "ldmatrix"}> : (tensor<1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>) -> tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %122 = "nv_tileas.reshape"(%121) : (tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %123 = "nv_tileas.shared_load"(%117) <{atom = "ldmatrix"}> : (tensor<1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>) -> tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %124 = "nv_tileas.reshape"(%123) : (tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %125 = "math.fma"(%120, %124, %122) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    "nv_tileas.tiled_store"(%125, %102, %7, %arg9) <{bytes = 4 : i64}> : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, !cuda_tile.partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    %126 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %127 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %128 = "arith.constant"() <{value = 2 : i32}> : () -> i32
    %129 = "arith.addi"(%arg10, %126) : (i32, i32) -> i32
    %130 = "arith.cmpi"(%129, %128) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %131 = "arith.select"(%130, %127, %129) : (i1, i32, i32) -> i32
    "scf.yield"(%131, %arg10) : (i32, i32) -> ()
  }) : (i32, i32, i32, i32, i32) -> (i32, i32)
  "nv_tileas.return"() : () -> ()
}) : () -> ()
