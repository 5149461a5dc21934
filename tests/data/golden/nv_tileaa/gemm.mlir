"nv_tileaa.func"() <{module = "gemm", names = ["a", "b", "c", "d", "m", "n", "k", "lda", "ldb", "ldc", "ldd"], sym_name = "gemm"}> ({
^bb0(%arg0: !nv_tileaa.ptr<f16>, %arg1: !nv_tileaa.ptr<f16>, %arg2: !nv_tileaa.ptr<f32>, %arg3: !nv_tileaa.ptr<f32>, %arg4: i32, %arg5: i32, %arg6: i32, %arg7: i32, %arg8: i32, %arg9: i32, %arg10: i32):
  %0 = "nv_tileaa.create_mem_token"() : () -> !nv_tileaa.mem_token
  %1 = "nv_tileaa.assume"(%arg0) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f16>) -> !nv_tileaa.ptr<f16>
  %2 = "nv_tileaa.assume"(%arg1) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f16>) -> !nv_tileaa.ptr<f16>
  %3 = "nv_tileaa.assume"(%arg2) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %4 = "nv_tileaa.assume"(%arg3) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %5 = "nv_tileaa.assume"(%arg4) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %6 = "nv_tileaa.assume"(%arg5) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %7 = "nv_tileaa.assume"(%arg6) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %8 = "nv_tileaa.assume"(%6) <{predicate = #cuda_tile.div_by<8>}> : (i32) -> i32
  %9 = "nv_tileaa.assume"(%7) <{predicate = #cuda_tile.div_by<8>}> : (i32) -> i32
  %10 = "nv_tileaa.assume"(%arg7) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %11 = "nv_tileaa.assume"(%arg8) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %12 = "nv_tileaa.assume"(%arg9) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %13 = "nv_tileaa.assume"(%arg10) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %14 = "nv_tileaa.assume"(%10) <{predicate = #cuda_tile.div_by<8>}> : (i32) -> i32
  %15 = "nv_tileaa.assume"(%11) <{predicate = #cuda_tile.div_by<8>}> : (i32) -> i32
  %16 = "nv_tileaa.assume"(%12) <{predicate = #cuda_tile.div_by<4>}> : (i32) -> i32
  %17 = "nv_tileaa.assume"(%13) <{predicate = #cuda_tile.div_by<4>}> : (i32) -> i32
  %18 = "nv_tileaa.make_memref"(%1, %5, %9, %14) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>
  %19 = "nv_tileaa.make_memref"(%2, %8, %9, %15) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>
  %20 = "nv_tileaa.make_memref"(%3, %5, %8, %16) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>
  %21 = "nv_tileaa.make_memref"(%4, %5, %8, %17) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>
  %22 = "nv_tileaa.partition"(%18) : (!nv_tileaa.memref<?x?xf16, strides=[?, 1], global>) -> !nv_tileaa.tiled_view<128x64, !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>, padding=zero>
  %23 = "nv_tileaa.partition"(%19) : (!nv_tileaa.memref<?x?xf16, strides=[?, 1], global>) -> !nv_tileaa.tiled_view<128x64, !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>, padding=zero>
  %24 = "nv_tileaa.partition"(%20) : (!nv_tileaa.memref<?x?xf32, strides=[?, 1], global>) -> !nv_tileaa.tiled_view<128x128, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>, padding=zero>
  %25 = "nv_tileaa.partition"(%21) : (!nv_tileaa.memref<?x?xf32, strides=[?, 1], global>) -> !nv_tileaa.tiled_view<128x128, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>>
  %26 = "nv_tileaa.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %27 = "nv_tileaa.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %28 = "nv_tileaa.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %29 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %30 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %31 = "nv_tileaa.constant_tensor"() <{value = dense<0.000000e+00> : tensor<128x128xf32>}> : () -> tensor<128x128xf32>
  %32:2 = "nv_tileaa.index_space_shape"(%22) : (!nv_tileaa.tiled_view<128x64, !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>, padding=zero>) -> (i32, i32)
  %33 = "scf.for"(%29, %32#1, %30, %31) ({
  ^bb0(%arg11: i32, %arg12: tensor<128x128xf32>):
    %37:2 = "nv_tileaa.tiled_load"(%22, %26, %arg11, %0) : (!nv_tileaa.tiled_view<128x64, !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>, padding=zero>, i32, i32, !nv_tileaa.mem_token) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %38:2 = "nv_tileaa.tiled_load"(%23, %27, %arg11, %0) : (!nv_tileaa.tiled_view<128x64, !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>, padding=zero>, i32, i32, !nv_tileaa.mem_token) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %39 = "nv_tileaa.permute"(%38#0) <{permutation = array<i64: 1, 0>}> : (tensor<128x64xf16>) -> tensor<64x128xf16>
    %40 = "nv_tileaa.dot"(%37#0, %39, %arg12) : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    "scf.yield"(%40) : (tensor<128x128xf32>) -> ()
  }) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32>
  %34:2 = "nv_tileaa.tiled_load"(%24, %26, %27, %0) : (!nv_tileaa.tiled_view<128x128, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>, padding=zero>, i32, i32, !nv_tileaa.mem_token) -> (tensor<128x128xf32>, !nv_tileaa.mem_token)
  %35 = "arith.addf"(%33, %34#0) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %36 = "nv_tileaa.tiled_store"(%35, %25, %26, %27, %0) : (tensor<128x128xf32>, !nv_tileaa.tiled_view<128x128, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>>, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  "nv_tileaa.return"() : () -> ()
}) : () -> ()
