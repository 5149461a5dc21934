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
    %131 = "arith.constant"() <{value = 5 : i32}> : () -> i32
    %132 = "arith.muli"(%5, %131) : (i32, i32) -> i32
    %133 = "arith.addi"(%arg9, %132) : (i32, i32) -> i32
    %134 = "arith.cmpi"(%133, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "nv_tileas.async.tiled_copy"(%10, %arg12, %134, %3, %7, %133) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %135 = "nv_tileas.buffer_view"(%10, %arg11) : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32) -> tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
    %136 = "nv_tileas.shared_load"(%135) <{atom = "ldmatrix"}> : (tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %137 = "arith.addf"(%arg10, %136) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %138 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %139 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %140 = "arith.constant"() <{value = 6 : i32}> : () -> i32
    %141 = "arith.addi"(%arg11, %138) : (i32, i32) -> i32
    %142 = "arith.cmpi"(%141, %140) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %143 = "arith.select"(%142, %139, %141) : (i1, i32, i32) -> i32
    "scf.yield"(%137, %143, %arg11) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, i32, i32) -> ()
  }) : (i32, i32, i32, tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, i32, i32) -> (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, i32, i32)
  "nv_tileas.async.wait"() <{pending = 0 : i64}> : () -> ()
  %28 = "nv_tileas.constant"() <{value = dense<0.000000e+00> : tensor<1x1024xf32>}> : () -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
  %29 = "nv_tileas.reduce"(%27#0) <{dim = 1 : i64, identities = [0.000000e+00 : f64]}> ({
  ^bb0(%arg9: f32, %arg10: f32):
    %131 = "arith.addf"(%arg9, %arg10) : (f32, f32) -> f32
    "tilesat.scf.yield"(%131) : (f32) -> ()
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
  %58 = "arith.constant"() <{value = -1 : i64}> : () -> i64
  %59 = "arith.extsi"(%arg4) : (i32) -> i64
  %60 = "arith.constant"() <{value = 1 : i64}> : () -> i64
  %61 = "arith.muli"(%59, %60) : (i64, i64) -> i64
  %62 = "arith.addi"(%58, %61) : (i64, i64) -> i64
  %63 = "arith.extsi"(%7) : (i32) -> i64
  %64 = "arith.constant"() <{value = -1 : i64}> : () -> i64
  %65 = "arith.muli"(%63, %64) : (i64, i64) -> i64
  %66 = "arith.addi"(%62, %65) : (i64, i64) -> i64
  %67 = "arith.constant"() <{value = -6144 : i64}> : () -> i64
  %68 = "arith.extsi"(%arg5) : (i32) -> i64
  %69 = "arith.constant"() <{value = 1 : i64}> : () -> i64
  %70 = "arith.muli"(%68, %69) : (i64, i64) -> i64
  %71 = "arith.addi"(%67, %70) : (i64, i64) -> i64
  %72 = "arith.constant"() <{value = 10 : i64}> : () -> i64
  %73 = "arith.shrsi"(%71, %72) : (i64, i64) -> i64
  %74 = "arith.constant"() <{value = 1 : i64}> : () -> i64
  %75 = "arith.addi"(%73, %74) : (i64, i64) -> i64
  %76 = "arith.minsi"(%57, %75) : (i64, i64) -> i64
  %77 = "arith.constant"() <{value = -1024 : i64}> : () -> i64
  %78 = "arith.extsi"(%arg5) : (i32) -> i64
  %79 = "arith.constant"() <{value = 1 : i64}> : () -> i64
  %80 = "arith.muli"(%78, %79) : (i64, i64) -> i64
  %81 = "arith.addi"(%77, %80) : (i64, i64) -> i64
  %82 = "arith.constant"() <{value = 10 : i64}> : () -> i64
  %83 = "arith.shrsi"(%81, %82) : (i64, i64) -> i64
  %84 = "arith.constant"() <{value = 1 : i64}> : () -> i64
  %85 = "arith.addi"(%83, %84) : (i64, i64) -> i64
  %86 = "arith.minsi"(%76, %85) : (i64, i64) -> i64
  %87 = "arith.constant"() <{value = -6 : i64}> : () -> i64
  %88 = "arith.extsi"(%4#1) : (i32) -> i64
  %89 = "arith.constant"() <{value = 1 : i64}> : () -> i64
  %90 = "arith.muli"(%88, %89) : (i64, i64) -> i64
  %91 = "arith.addi"(%87, %90) : (i64, i64) -> i64
  %92 = "arith.constant"() <{value = 1 : i64}> : () -> i64
  %93 = "arith.addi"(%91, %92) : (i64, i64) -> i64
  %94 = "arith.minsi"(%86, %93) : (i64, i64) -> i64
  %95 = "arith.constant"() <{value = 0 : i64}> : () -> i64
  %96 = "arith.cmpi"(%66, %95) <{predicate = 5 : i64}> : (i64, i64) -> i1
  %97 = "arith.select"(%96, %94, %56) : (i1, i64, i64) -> i64
  %98 = "arith.maxsi"(%57, %56) : (i64, i64) -> i64
  %99 = "arith.minsi"(%56, %98) : (i64, i64) -> i64
  %100 = "arith.maxsi"(%99, %56) : (i64, i64) -> i64
  %101 = "arith.maxsi"(%97, %100) : (i64, i64) -> i64
  %102 = "arith.maxsi"(%57, %56) : (i64, i64) -> i64
  %103 = "arith.minsi"(%101, %102) : (i64, i64) -> i64
  %104 = "arith.maxsi"(%103, %56) : (i64, i64) -> i64
  %105 = "arith.trunci"(%100) : (i64) -> i32
  %106 = "arith.trunci"(%104) : (i64) -> i32
  %107:3 = "scf.for"(%1, %106, %5, %28, %0, %55) ({
  ^bb0(%arg9: i32, %arg10: tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, %arg11: i32, %arg12: i32):
    "nv_tileas.async.wait"() <{pending = 4 : i64}> : () -> ()
    "nv_tileas.barrier"() : () -> ()
    %131 = "arith.constant"() <{value = 5 : i32}> : () -> i32
    %132 = "arith.muli"(%5, %131) : (i32, i32) -> i32
    %133 = "arith.addi"(%arg9, %132) : (i32, i32) -> i32
    "nv_tileas.async.tiled_copy"(%39, %arg12, %3, %7, %133) <{asynchronous = true, bytes = 16 : i64, inside = true, operandSegmentSizes = array<i32: 1, 1, 0, 1, 2>, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %134 = "nv_tileas.buffer_view"(%39, %arg11) : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32) -> tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
    %135 = "nv_tileas.shared_load"(%134) <{atom = "ld.shared"}> : (tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %136 = "arith.subf"(%135, %34) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %137 = "math.fma"(%136, %136, %arg10) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %138 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %139 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %140 = "arith.constant"() <{value = 6 : i32}> : () -> i32
    %141 = "arith.addi"(%arg11, %138) : (i32, i32) -> i32
    %142 = "arith.cmpi"(%141, %140) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %143 = "arith.select"(%142, %139, %141) : (i1, i32, i32) -> i32
    "scf.yield"(%137, %143, %arg11) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, i32, i32) -> ()
  }) : (i32, i32, i32, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, i32, i32) -> (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, i32, i32)
  %108:3 = "scf.for"(%106, %4#1, %5, %107#0, %107#1, %107#2) ({
  ^bb0(%arg9: i32, %arg10: tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, %arg11: i32, %arg12: i32):
    "nv_tileas.async.wait"() <{pending = 4 : i64}> : () -> ()
    "nv_tileas.barrier"() : () -> ()
    %131 = "arith.constant"() <{value = 5 : i32}> : () -> i32
    %132 = "arith.muli"(%5, %131) : (i32, i32) -> i32
    %133 = "arith.addi"(%arg9, %132) : (i32, i32) -> i32
    %134 = "arith.cmpi"(%133, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "nv_tileas.async.tiled_copy"(%39, %arg12, %134, %3, %7, %133) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %135 = "nv_tileas.buffer_view"(%39, %arg11) : (!nv_tileas.smem<6x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32) -> tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
    %136 = "nv_tileas.shared_load"(%135) <{atom = "ld.shared"}> : (tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %137 = "arith.subf"(%136, %34) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %138 = "arith.muli"(%arg9, %36) : (i32, i32) -> i32
    %139 = "nv_tileas.reshape"(%138) : (i32) -> tensor<1xi32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
    %140 = "nv_tileas.broadcast"(%139) : (tensor<1xi32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %141 = "arith.addi"(%140, %35) : (tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %142 = "arith.cmpi"(%141, %38) <{predicate = 2 : i64}> : (tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1024xi32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1024xi1, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %143 = "nv_tileas.reshape"(%142) : (tensor<1024xi1, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1x1024xi1, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %144 = "arith.select"(%143, %137, %28) : (tensor<1x1024xi1, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %145 = "math.fma"(%144, %144, %arg10) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>
    %146 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %147 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %148 = "arith.constant"() <{value = 6 : i32}> : () -> i32
    %149 = "arith.addi"(%arg11, %146) : (i32, i32) -> i32
    %150 = "arith.cmpi"(%149, %148) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %151 = "arith.select"(%150, %147, %149) : (i1, i32, i32) -> i32
    "scf.yield"(%145, %151, %arg11) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, i32, i32) -> ()
  }) : (i32, i32, i32, tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, i32, i32) -> (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>, i32, i32)
  "nv_tileas.async.wait"() <{pending = 0 : i64}> : () -> ()
  %109 = "nv_tileas.broadcast"(%33) : (tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
  %110 = "nv_tileas.reduce"(%108#0) <{dim = 1 : i64, identities = [0.000000e+00 : f64], scratch = 512 : i64}> ({
  ^bb0(%arg9: f32, %arg10: f32):
    %131 = "arith.addf"(%arg9, %arg10) : (f32, f32) -> f32
    "tilesat.scf.yield"(%131) : (f32) -> ()
  }) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>>) -> tensor<1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %111 = "nv_tileas.reshape"(%110) : (tensor<1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %112 = "arith.divf"(%111, %32) : (tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>, tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %113 = "nv_tileas.reshape"(%arg8) : (f32) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %114 = "arith.addf"(%112, %113) : (tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>, tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %115 = "math.rsqrt"(%114) : (tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>
  %116 = "nv_tileas.broadcast"(%115) : (tensor<1x1xf32, #nv_tileas.linear<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], size = 1>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
  %117 = "nv_tileas.make_memref"(%arg2, %arg5) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!llvm.ptr<1>, i32) -> !cuda_tile.tensor_view<?xf32, strides=[1]>
  %118 = "nv_tileas.partition"(%117) : (!cuda_tile.tensor_view<?xf32, strides=[1]>) -> !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %119 = "nv_tileas.make_memref"(%arg1, %arg5) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!llvm.ptr<1>, i32) -> !cuda_tile.tensor_view<?xf32, strides=[1]>
  %120 = "nv_tileas.partition"(%119) : (!cuda_tile.tensor_view<?xf32, strides=[1]>) -> !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %121 = "nv_tileas.make_memref"(%arg3, %arg4, %arg5, %arg7) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!llvm.ptr<1>, i32, i32, i32) -> !cuda_tile.tensor_view<?x?xf32, strides=[?,1]>
  %122 = "nv_tileas.partition"(%121) : (!cuda_tile.tensor_view<?x?xf32, strides=[?,1]>) -> !cuda_tile.partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>
  %123 = "nv_tileas.alloc_tensor"() <{offset = 0 : i64, stage_bytes = 12288 : i64}> : () -> !nv_tileas.smem<2x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
  %124 = "nv_tileas.alloc_tensor"() <{offset = 4096 : i64, stage_bytes = 12288 : i64}> : () -> !nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
  %125 = "nv_tileas.alloc_tensor"() <{offset = 8192 : i64, stage_bytes = 12288 : i64}> : () -> !nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
  "nv_tileas.barrier"() : () -> ()
  %126 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %127 = "arith.cmpi"(%1, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%123, %126, %127, %3, %7, %1) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, skips = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<2x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.tiled_copy"(%124, %126, %127, %118, %1) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, ragged = true, skips = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
  "nv_tileas.async.tiled_copy"(%125, %126, %127, %120, %1) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, ragged = true, skips = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %128 = "arith.addi"(%1, %5) : (i32, i32) -> i32
  %129 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %130:2 = "scf.for"(%1, %4#1, %5, %0, %129) ({
  ^bb0(%arg9: i32, %arg10: i32, %arg11: i32):
    "nv_tileas.async.wait"() <{pending = 0 : i64}> : () -> ()
    "nv_tileas.barrier"() : () -> ()
    %131 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %132 = "arith.muli"(%5, %131) : (i32, i32) -> i32
    %133 = "arith.addi"(%arg9, %132) : (i32, i32) -> i32
    %134 = "arith.cmpi"(%133, %4#1) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "nv_tileas.async.tiled_copy"(%123, %arg11, %134, %3, %7, %133) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>, ragged = true, skips = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<2x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.tiled_copy"(%124, %arg11, %134, %118, %133) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, ragged = true, skips = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
    "nv_tileas.async.tiled_copy"(%125, %arg11, %134, %120, %133) <{asynchronous = true, bytes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, ragged = true, skips = true, threads = #nv_tileas.linear<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], size = 1024>}> : (!nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32, i1, !cuda_tile.partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %135 = "nv_tileas.buffer_view"(%123, %arg10) : (!nv_tileas.smem<2x1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32) -> tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
    %136 = "nv_tileas.buffer_view"(%124, %arg10) : (!nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32) -> tensor<1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
    %137 = "nv_tileas.buffer_view"(%125, %arg10) : (!nv_tileas.smem<2x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>, i32) -> tensor<1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>
    %138 = "nv_tileas.shared_load"(%135) <{atom = "ldmatrix"}> : (tensor<1x1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %139 = "arith.subf"(%138, %109) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %140 = "arith.mulf"(%139, %116) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %141 = "nv_tileas.shared_load"(%136) <{atom = "ldmatrix"}> : (tensor<1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>) -> tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %142 = "nv_tileas.reshape"(%141) : (tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %143 = "nv_tileas.shared_load"(%137) <{atom = "ldmatrix"}> : (tensor<1024xf32, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], bytes = 4>>) -> tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %144 = "nv_tileas.reshape"(%143) : (tensor<1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    %145 = "math.fma"(%140, %144, %142) : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>) -> tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>
    "nv_tileas.tiled_store"(%145, %122, %7, %arg9) <{bytes = 4 : i64}> : (tensor<1x1024xf32, #nv_tileas.linear<reg = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], size = 1024>>, !cuda_tile.partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    %146 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %147 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %148 = "arith.constant"() <{value = 2 : i32}> : () -> i32
    %149 = "arith.addi"(%arg10, %146) : (i32, i32) -> i32
    %150 = "arith.cmpi"(%149, %148) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %151 = "arith.select"(%150, %147, %149) : (i1, i32, i32) -> i32
    "scf.yield"(%151, %arg10) : (i32, i32) -> ()
  }) : (i32, i32, i32, i32, i32) -> (i32, i32)
  "nv_tileas.return"() : () -> ()
}) : () -> ()
