"nv_tileas.func"() <{shared_bytes = 81920 : i64, sym_name = "layernorm", target = "sm_80", warps = 4 : i64}> ({
^bb0(%arg0: !llvm.ptr<1>, %arg1: !llvm.ptr<1>, %arg2: !llvm.ptr<1>, %arg3: !llvm.ptr<1>, %arg4: i32, %arg5: i32, %arg6: i32, %arg7: i32, %arg8: f32):
  %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %1 = "nv_tileas.make_memref"(%arg0, %arg4, %arg5, %arg6) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!llvm.ptr<1>, i32, i32, i32) -> tensor_view<?x?xf32, strides=[?,1]>
  %2 = "nv_tileas.partition"(%1) : (tensor_view<?x?xf32, strides=[?,1]>) -> partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
  %3:2 = "nv_tileas.index_space_shape"(%2) : (partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>) -> (i32, i32)
  %4 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %5 = "nv_tileas.constant"() <{value = dense<0.000000e+00> : tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>}> : () -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %6 = "nv_tileas.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %7 = "nv_tileas.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %8 = "nv_tileas.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %9 = "nv_tileas.alloc_tensor"() <{offset = 0 : i64, stage_bytes = 4096 : i64}> : () -> !nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>
  %10 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %11 = "arith.cmpi"(%0, %3#1) <{predicate = "slt"}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%9, %10, %11, %2, %6, %0) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %12 = "arith.addi"(%0, %4) : (i32, i32) -> i32
  %13 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %14 = "arith.cmpi"(%12, %3#1) <{predicate = "slt"}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%9, %13, %14, %2, %6, %12) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %15 = "arith.addi"(%12, %4) : (i32, i32) -> i32
  %16 = "arith.constant"() <{value = 2 : i32}> : () -> i32
  %17 = "arith.cmpi"(%15, %3#1) <{predicate = "slt"}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%9, %16, %17, %2, %6, %15) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %18 = "arith.addi"(%15, %4) : (i32, i32) -> i32
  %19 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %20 = "arith.constant"() <{value = 3 : i32}> : () -> i32
  %21:3 = "scf.for"(%0, %3#1, %4, %5, %19, %20) <{operandSegmentSizes = array<i32: 1, 1, 1, 3>}> ({
  ^bb0(%arg9: i32, %arg10: tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, %arg11: i32, %arg12: i32):
    "nv_tileas.async.wait"() <{pending = 2 : i64}> : () -> ()
    "nv_tileas.barrier"() : () -> ()
    %73 = "arith.constant"() <{value = 3 : i32}> : () -> i32
    %74 = "arith.muli"(%4, %73) : (i32, i32) -> i32
    %75 = "arith.addi"(%arg9, %74) : (i32, i32) -> i32
    %76 = "arith.cmpi"(%75, %3#1) <{predicate = "slt"}> : (i32, i32) -> i1
    "nv_tileas.async.tiled_copy"(%9, %arg12, %76, %2, %6, %75) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %77 = "nv_tileas.buffer_view"(%9, %arg11) <{operandSegmentSizes = array<i32: 1, 1>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32) -> tensor<1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>
    %78 = "nv_tileas.shared_load"(%77) <{atom = "ldmatrix"}> : (tensor<1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %79 = "arith.addf"(%arg10, %78) : (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %80 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %81 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %82 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %83 = "arith.addi"(%arg11, %80) : (i32, i32) -> i32
    %84 = "arith.cmpi"(%83, %82) <{predicate = "eq"}> : (i32, i32) -> i1
    %85 = "arith.select"(%84, %81, %83) : (i1, i32, i32) -> i32
    "scf.yield"(%79, %85, %arg11) : (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, i32, i32) -> ()
  }) : (i32, i32, i32, tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, i32, i32) -> (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, i32, i32)
  "nv_tileas.async.wait"() <{pending = 0 : i64}> : () -> ()
  %22 = "arith.sitofp"(%arg5) : (i32) -> f32
  %23 = "nv_tileas.reshape"(%22) : (f32) -> tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %24 = "nv_tileas.reduce"(%21#0) <{dim = 1 : i64, identity = 0.000000e+00 : f64}> ({
  ^bb0(%arg9: f32, %arg10: f32):
    %73 = "arith.addf"(%arg9, %arg10) : (f32, f32) -> f32
    "scf.yield"(%73) : (f32) -> ()
  }) : (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %25 = "nv_tileas.reshape"(%24) : (tensor<1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %26 = "arith.divf"(%25, %23) : (tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>, tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %27 = "nv_tileas.broadcast"(%26) : (tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %28 = "nv_tileas.reshape"(%arg5) : (i32) -> tensor<1xi32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %29 = "nv_tileas.broadcast"(%28) : (tensor<1xi32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %30 = "nv_tileas.iota"() : () -> tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %31 = "arith.constant"() <{value = 1024 : i32}> : () -> i32
  %32 = "nv_tileas.alloc_tensor"() <{offset = 16384 : i64, stage_bytes = 4096 : i64}> : () -> !nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>
  "nv_tileas.barrier"() : () -> ()
  %33 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %34 = "arith.cmpi"(%0, %3#1) <{predicate = "slt"}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%32, %33, %34, %2, %6, %0) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %35 = "arith.addi"(%0, %4) : (i32, i32) -> i32
  %36 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %37 = "arith.cmpi"(%35, %3#1) <{predicate = "slt"}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%32, %36, %37, %2, %6, %35) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %38 = "arith.addi"(%35, %4) : (i32, i32) -> i32
  %39 = "arith.constant"() <{value = 2 : i32}> : () -> i32
  %40 = "arith.cmpi"(%38, %3#1) <{predicate = "slt"}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%32, %39, %40, %2, %6, %38) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %41 = "arith.addi"(%38, %4) : (i32, i32) -> i32
  %42 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %43 = "arith.constant"() <{value = 3 : i32}> : () -> i32
  %44:3 = "scf.for"(%0, %3#1, %4, %5, %42, %43) <{operandSegmentSizes = array<i32: 1, 1, 1, 3>}> ({
  ^bb0(%arg9: i32, %arg10: tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, %arg11: i32, %arg12: i32):
    "nv_tileas.async.wait"() <{pending = 2 : i64}> : () -> ()
    "nv_tileas.barrier"() : () -> ()
    %73 = "arith.constant"() <{value = 3 : i32}> : () -> i32
    %74 = "arith.muli"(%4, %73) : (i32, i32) -> i32
    %75 = "arith.addi"(%arg9, %74) : (i32, i32) -> i32
    %76 = "arith.cmpi"(%75, %3#1) <{predicate = "slt"}> : (i32, i32) -> i1
    "nv_tileas.async.tiled_copy"(%32, %arg12, %76, %2, %6, %75) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %77 = "nv_tileas.buffer_view"(%32, %arg11) <{operandSegmentSizes = array<i32: 1, 1>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32) -> tensor<1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>
    %78 = "nv_tileas.shared_load"(%77) <{atom = "ldmatrix"}> : (tensor<1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %79 = "arith.subf"(%78, %27) : (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %80 = "arith.muli"(%arg9, %31) : (i32, i32) -> i32
    %81 = "nv_tileas.reshape"(%80) : (i32) -> tensor<1xi32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
    %82 = "nv_tileas.broadcast"(%81) : (tensor<1xi32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %83 = "arith.addi"(%82, %30) : (tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %84 = "arith.cmpi"(%83, %29) <{predicate = "slt"}> : (tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1024xi1, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %85 = "nv_tileas.reshape"(%84) : (tensor<1024xi1, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1x1024xi1, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %86 = "arith.select"(%85, %79, %5) : (tensor<1x1024xi1, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %87 = "math.fma"(%86, %86, %arg10) : (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %88 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %89 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %90 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %91 = "arith.addi"(%arg11, %88) : (i32, i32) -> i32
    %92 = "arith.cmpi"(%91, %90) <{predicate = "eq"}> : (i32, i32) -> i1
    %93 = "arith.select"(%92, %89, %91) : (i1, i32, i32) -> i32
    "scf.yield"(%87, %93, %arg11) : (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, i32, i32) -> ()
  }) : (i32, i32, i32, tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, i32, i32) -> (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, i32, i32)
  "nv_tileas.async.wait"() <{pending = 0 : i64}> : () -> ()
  %45 = "nv_tileas.make_memref"(%arg2, %arg5) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!llvm.ptr<1>, i32) -> tensor_view<?xf32, strides=[1]>
  %46 = "nv_tileas.partition"(%45) : (tensor_view<?xf32, strides=[1]>) -> partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %47 = "nv_tileas.make_memref"(%arg1, %arg5) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!llvm.ptr<1>, i32) -> tensor_view<?xf32, strides=[1]>
  %48 = "nv_tileas.partition"(%47) : (tensor_view<?xf32, strides=[1]>) -> partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %49 = "nv_tileas.reshape"(%arg8) : (f32) -> tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %50 = "nv_tileas.reduce"(%44#0) <{dim = 1 : i64, identity = 0.000000e+00 : f64}> ({
  ^bb0(%arg9: f32, %arg10: f32):
    %73 = "arith.addf"(%arg9, %arg10) : (f32, f32) -> f32
    "scf.yield"(%73) : (f32) -> ()
  }) : (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %51 = "nv_tileas.reshape"(%50) : (tensor<1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %52 = "arith.divf"(%51, %23) : (tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>, tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %53 = "arith.addf"(%52, %49) : (tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>, tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %54 = "math.rsqrt"(%53) : (tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %55 = "nv_tileas.broadcast"(%54) : (tensor<1x1xf32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %56 = "nv_tileas.make_memref"(%arg3, %arg4, %arg5, %arg7) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!llvm.ptr<1>, i32, i32, i32) -> tensor_view<?x?xf32, strides=[?,1]>
  %57 = "nv_tileas.partition"(%56) : (tensor_view<?x?xf32, strides=[?,1]>) -> partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>
  %58 = "nv_tileas.alloc_tensor"() <{offset = 32768 : i64, stage_bytes = 12288 : i64}> : () -> !nv_tileas.smem<4x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>
  %59 = "nv_tileas.alloc_tensor"() <{offset = 36864 : i64, stage_bytes = 12288 : i64}> : () -> !nv_tileas.smem<4x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>
  %60 = "nv_tileas.alloc_tensor"() <{offset = 40960 : i64, stage_bytes = 12288 : i64}> : () -> !nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>
  "nv_tileas.barrier"() : () -> ()
  %61 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %62 = "arith.cmpi"(%0, %3#1) <{predicate = "slt"}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%58, %61, %62, %46, %0) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (!nv_tileas.smem<4x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
  "nv_tileas.async.tiled_copy"(%59, %61, %62, %48, %0) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (!nv_tileas.smem<4x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
  "nv_tileas.async.tiled_copy"(%60, %61, %62, %2, %6, %0) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %63 = "arith.addi"(%0, %4) : (i32, i32) -> i32
  %64 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %65 = "arith.cmpi"(%63, %3#1) <{predicate = "slt"}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%58, %64, %65, %46, %63) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (!nv_tileas.smem<4x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
  "nv_tileas.async.tiled_copy"(%59, %64, %65, %48, %63) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (!nv_tileas.smem<4x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
  "nv_tileas.async.tiled_copy"(%60, %64, %65, %2, %6, %63) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %66 = "arith.addi"(%63, %4) : (i32, i32) -> i32
  %67 = "arith.constant"() <{value = 2 : i32}> : () -> i32
  %68 = "arith.cmpi"(%66, %3#1) <{predicate = "slt"}> : (i32, i32) -> i1
  "nv_tileas.async.tiled_copy"(%58, %67, %68, %46, %66) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (!nv_tileas.smem<4x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
  "nv_tileas.async.tiled_copy"(%59, %67, %68, %48, %66) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (!nv_tileas.smem<4x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
  "nv_tileas.async.tiled_copy"(%60, %67, %68, %2, %6, %66) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
  "nv_tileas.async.commit"() : () -> ()
  %69 = "arith.addi"(%66, %4) : (i32, i32) -> i32
  %70 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %71 = "arith.constant"() <{value = 3 : i32}> : () -> i32
  %72:2 = "scf.for"(%0, %3#1, %4, %70, %71) <{operandSegmentSizes = array<i32: 1, 1, 1, 2>}> ({
  ^bb0(%arg9: i32, %arg10: i32, %arg11: i32):
    "nv_tileas.async.wait"() <{pending = 2 : i64}> : () -> ()
    "nv_tileas.barrier"() : () -> ()
    %73 = "arith.constant"() <{value = 3 : i32}> : () -> i32
    %74 = "arith.muli"(%4, %73) : (i32, i32) -> i32
    %75 = "arith.addi"(%arg9, %74) : (i32, i32) -> i32
    %76 = "arith.cmpi"(%75, %3#1) <{predicate = "slt"}> : (i32, i32) -> i1
    "nv_tileas.async.tiled_copy"(%58, %arg11, %76, %46, %75) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (!nv_tileas.smem<4x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
    "nv_tileas.async.tiled_copy"(%59, %arg11, %76, %48, %75) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (!nv_tileas.smem<4x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, i32) -> ()
    "nv_tileas.async.tiled_copy"(%60, %arg11, %76, %2, %6, %75) <{asynchronous = true, bytes = 16 : i64, ragged = true, threads = #linear<reg=[1, 2, 512], lane=[4, 8, 16, 32, 64], warp=[128, 256]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32, i1, partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    "nv_tileas.async.commit"() : () -> ()
    %77 = "nv_tileas.buffer_view"(%58, %arg10) <{operandSegmentSizes = array<i32: 1, 1>}> : (!nv_tileas.smem<4x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32) -> tensor<1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>
    %78 = "nv_tileas.buffer_view"(%59, %arg10) <{operandSegmentSizes = array<i32: 1, 1>}> : (!nv_tileas.smem<4x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32) -> tensor<1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>
    %79 = "nv_tileas.buffer_view"(%60, %arg10) <{operandSegmentSizes = array<i32: 1, 1>}> : (!nv_tileas.smem<4x1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>, i32) -> tensor<1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>
    %80 = "nv_tileas.shared_load"(%77) <{atom = "ldmatrix"}> : (tensor<1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>) -> tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %81 = "nv_tileas.reshape"(%80) : (tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %82 = "nv_tileas.shared_load"(%78) <{atom = "ldmatrix"}> : (tensor<1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>) -> tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %83 = "nv_tileas.reshape"(%82) : (tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %84 = "nv_tileas.shared_load"(%79) <{atom = "ldmatrix"}> : (tensor<1x1024xf32, #shared<offset=[1, 2, 4, 8, 16, 36, 72, 144, 256, 512], bytes=4>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %85 = "arith.subf"(%84, %27) : (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %86 = "arith.mulf"(%85, %55) : (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    %87 = "math.fma"(%86, %83, %81) : (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
    "nv_tileas.tiled_store"(%87, %57, %6, %arg9) <{bytes = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 2>}> : (tensor<1x1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>, i32, i32) -> ()
    %88 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %89 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %90 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %91 = "arith.addi"(%arg10, %88) : (i32, i32) -> i32
    %92 = "arith.cmpi"(%91, %90) <{predicate = "eq"}> : (i32, i32) -> i1
    %93 = "arith.select"(%92, %89, %91) : (i1, i32, i32) -> i32
    "scf.yield"(%93, %arg10) : (i32, i32) -> ()
  }) : (i32, i32, i32, i32, i32) -> (i32, i32)
  "nv_tileas.async.wait"() <{pending = 0 : i64}> : () -> ()
  "nv_tileas.return"() : () -> ()
}) : () -> ()
