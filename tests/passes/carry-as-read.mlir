// RUN: tilesat opt %s --passes tileas-materialize-schedule,tileas-lower-pipelines,optimize-execution-unit-mapping,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,simplify-branches,merge-carried-values,carry-addresses,carry-as-read \
// | filecheck %s
// RUN: tilesat opt %s --passes tileas-materialize-schedule,tileas-lower-pipelines,optimize-execution-unit-mapping,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,simplify-branches,merge-carried-values,carry-addresses,carry-as-read \
// --pass-statistics 2>&1 | filecheck %s --check-prefix COUNT

// The producer's loop carries 64 times its counter, which is the coordinate that its copies read, and ends at 512 for 8;
// and the parity that it waits for, changed where the ring begins again.

// CHECK: [[ONE:%.*]] = "llvm.mlir.constant"() <{value = 1 : i32}>
// CHECK: [[END:%.*]] = "llvm.mlir.constant"() <{value = 512 : i32}>
// CHECK: [[STEP:%.*]] = "llvm.mlir.constant"() <{value = 64 : i32}>
// CHECK: {{\^bb5\(}}[[AT:%[a-z0-9]+]]: i32, {{%.*}}: i32, [[PARITY:%[a-z0-9]+]]: i32):
// CHECK: "tilesat.nvvm.cp.async.bulk.tensor.shared.cluster.global"({{%.*}}, %arg3, {{%.*}}, [[AT]],
// CHECK: [[OTHER:%.*]] = "llvm.xor"([[PARITY]], {{%.*}})
// CHECK: "llvm.select"({{%.*}}, [[OTHER]], [[PARITY]])
// CHECK: [[NEXT:%.*]] = "llvm.add"([[AT]], [[STEP]])
// CHECK: "llvm.icmp"([[NEXT]], [[END]]) <{predicate = 6 : i64}>
// COUNT: carry-as-read {{ +}}2 carried values that changed form, addresses displaced before the loop

"nv_tileas.func"() <{params = [{kind = "pointer", arg = 0 : i64, dtype = "f16"}, {kind = "pointer", arg = 1 : i64, dtype = "f16"}, {kind = "pointer", arg = 2 : i64, dtype = "f32"}], placed = true, sym_name = "gemm", target = "sm_90a", warps = 4 : i64}> ({
^bb0(%arg0: !llvm.ptr<1>, %arg1: !llvm.ptr<1>, %arg2: !llvm.ptr<1>):
  %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %1 = "arith.constant"() <{value = 8 : i32}> : () -> i32
  %2 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %3 = "nv_tileas.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32>}> : () -> tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 64, 8192], lane = [2, 4, 128, 256, 512], warp = [2048, 4096], size = 16384>>
  %4 = "nv_tileas.make_memref"(%arg1) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!llvm.ptr<1>) -> !cuda_tile.tensor_view<512x768xf16, strides=[768,1]>
  %5 = "nv_tileas.partition"(%4) : (!cuda_tile.tensor_view<512x768xf16, strides=[768,1]>) -> !cuda_tile.partition_view<tile=(64x128), tensor_view<512x768xf16, strides=[768,1]>>
  %6 = "nv_tileas.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %7 = "nv_tileas.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %8 = "nv_tileas.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %9 = "nv_tileas.make_memref"(%arg0) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!llvm.ptr<1>) -> !cuda_tile.tensor_view<1024x512xf16, strides=[512,1]>
  %10 = "nv_tileas.partition"(%9) : (!cuda_tile.tensor_view<1024x512xf16, strides=[512,1]>) -> !cuda_tile.partition_view<tile=(128x64), tensor_view<1024x512xf16, strides=[512,1]>>
  %11 = "scf.for"(%0, %1, %2, %3) ({
  ^bb0(%arg3: i32, %arg4: tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 64, 8192], lane = [2, 4, 128, 256, 512], warp = [2048, 4096], size = 16384>>):
    %14 = "nv_tileas.tiled_copy"(%5, %arg3, %7) <{asynchronous = true, bytes = 16 : i64, stages = 6 : i64, tma = true}> : (!cuda_tile.partition_view<tile=(64x128), tensor_view<512x768xf16, strides=[768,1]>>, i32, i32) -> tensor<64x128xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 4096, 72, 144, 288, 512, 1024, 2048], bytes = 2>>
    %15 = "nv_tileas.tiled_copy"(%10, %6, %arg3) <{asynchronous = true, bytes = 16 : i64, stages = 6 : i64, tma = true}> : (!cuda_tile.partition_view<tile=(128x64), tensor_view<1024x512xf16, strides=[512,1]>>, i32, i32) -> tensor<128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>
    %16 = "nv_tileas.dot"(%15, %14, %arg4) <{atom = "wgmma.m64n128k16.f16.f16.ss", grid = array<i64: 1, 1>}> : (tensor<128x64xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048, 4096], bytes = 2>>, tensor<64x128xf16, #nv_tileas.shared<offset = [1, 2, 4, 8, 16, 32, 4096, 72, 144, 288, 512, 1024, 2048], bytes = 2>>, tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 64, 8192], lane = [2, 4, 128, 256, 512], warp = [2048, 4096], size = 16384>>) -> tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 64, 8192], lane = [2, 4, 128, 256, 512], warp = [2048, 4096], size = 16384>>
    "scf.yield"(%16) : (tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 64, 8192], lane = [2, 4, 128, 256, 512], warp = [2048, 4096], size = 16384>>) -> ()
  }) : (i32, i32, i32, tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 64, 8192], lane = [2, 4, 128, 256, 512], warp = [2048, 4096], size = 16384>>) -> tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 64, 8192], lane = [2, 4, 128, 256, 512], warp = [2048, 4096], size = 16384>>
  %12 = "nv_tileas.make_memref"(%arg2) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!llvm.ptr<1>) -> !cuda_tile.tensor_view<1024x768xf32, strides=[768,1]>
  %13 = "nv_tileas.partition"(%12) : (!cuda_tile.tensor_view<1024x768xf32, strides=[768,1]>) -> !cuda_tile.partition_view<tile=(128x128), tensor_view<1024x768xf32, strides=[768,1]>>
  "nv_tileas.tiled_store"(%11, %13, %6, %7) <{bytes = 8 : i64}> : (tensor<128x128xf32, #nv_tileas.linear<reg = [1, 1024, 8, 16, 32, 64, 8192], lane = [2, 4, 128, 256, 512], warp = [2048, 4096], size = 16384>>, !cuda_tile.partition_view<tile=(128x128), tensor_view<1024x768xf32, strides=[768,1]>>, i32, i32) -> ()
  "nv_tileas.return"() : () -> ()
}) : () -> ()
