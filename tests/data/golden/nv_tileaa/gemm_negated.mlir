"nv_tileaa.func"() <{module = "gemm_negated", names = ["a", "b", "s", "d", "m", "n", "k", "lda", "ldb", "ldd"], sym_name = "gemm_negated"}> ({
^bb0(%arg0: !nv_tileaa.ptr<f16>, %arg1: !nv_tileaa.ptr<f16>, %arg2: !nv_tileaa.ptr<f16>, %arg3: !nv_tileaa.ptr<f32>, %arg4: i32, %arg5: i32, %arg6: i32, %arg7: i32, %arg8: i32, %arg9: i32):
  %0 = "nv_tileaa.create_mem_token"() : () -> !nv_tileaa.mem_token
  %1 = "nv_tileaa.assume"(%arg0) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f16>) -> !nv_tileaa.ptr<f16>
  %2 = "nv_tileaa.assume"(%arg1) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f16>) -> !nv_tileaa.ptr<f16>
  %3 = "nv_tileaa.assume"(%arg2) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f16>) -> !nv_tileaa.ptr<f16>
  %4 = "nv_tileaa.assume"(%arg3) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %5 = "nv_tileaa.assume"(%arg4) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %6 = "nv_tileaa.assume"(%arg5) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %7 = "nv_tileaa.assume"(%arg6) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %8 = "nv_tileaa.assume"(%6) <{predicate = #cuda_tile.div_by<8>}> : (i32) -> i32
  %9 = "nv_tileaa.assume"(%7) <{predicate = #cuda_tile.div_by<8>}> : (i32) -> i32
  %10 = "nv_tileaa.assume"(%arg7) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %11 = "nv_tileaa.assume"(%arg8) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %12 = "nv_tileaa.assume"(%arg9) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %13 = "nv_tileaa.assume"(%10) <{predicate = #cuda_tile.div_by<8>}> : (i32) -> i32
  %14 = "nv_tileaa.assume"(%11) <{predicate = #cuda_tile.div_by<8>}> : (i32) -> i32
  %15 = "nv_tileaa.assume"(%12) <{predicate = #cuda_tile.div_by<4>}> : (i32) -> i32
  %16 = "nv_tileaa.make_memref"(%1, %5, %9, %13) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>
  %17 = "nv_tileaa.make_memref"(%2, %8, %9, %14) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>
  %18 = "nv_tileaa.make_memref"(%3, %9) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!nv_tileaa.ptr<f16>, i32) -> !nv_tileaa.memref<?xf16, strides=[1], global>
  %19 = "nv_tileaa.make_memref"(%4, %5, %8, %15) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>
  %20 = "nv_tileaa.partition"(%16) : (!nv_tileaa.memref<?x?xf16, strides=[?, 1], global>) -> !nv_tileaa.tiled_view<128x64, !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>, padding=zero>
  %21 = "nv_tileaa.partition"(%17) : (!nv_tileaa.memref<?x?xf16, strides=[?, 1], global>) -> !nv_tileaa.tiled_view<128x64, !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>, padding=zero>
  %22 = "nv_tileaa.partition"(%18) : (!nv_tileaa.memref<?xf16, strides=[1], global>) -> !nv_tileaa.tiled_view<64, !nv_tileaa.memref<?xf16, strides=[1], global>, padding=zero>
  %23 = "nv_tileaa.partition"(%19) : (!nv_tileaa.memref<?x?xf32, strides=[?, 1], global>) -> !nv_tileaa.tiled_view<128x128, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>>
  %24 = "nv_tileaa.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %25 = "nv_tileaa.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %26 = "nv_tileaa.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %27 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %28 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %29 = "nv_tileaa.constant_tensor"() <{value = dense<0.000000e+00> : tensor<128x128xf32>}> : () -> tensor<128x128xf32>
  %30:2 = "nv_tileaa.index_space_shape"(%20) : (!nv_tileaa.tiled_view<128x64, !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>, padding=zero>) -> (i32, i32)
  %31 = "scf.for"(%27, %30#1, %28, %29) ({
  ^bb0(%arg10: i32, %arg11: tensor<128x128xf32>):
    %33:2 = "nv_tileaa.tiled_load"(%20, %24, %arg10, %0) : (!nv_tileaa.tiled_view<128x64, !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>, padding=zero>, i32, i32, !nv_tileaa.mem_token) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %34:2 = "nv_tileaa.tiled_load"(%21, %25, %arg10, %0) : (!nv_tileaa.tiled_view<128x64, !nv_tileaa.memref<?x?xf16, strides=[?, 1], global>, padding=zero>, i32, i32, !nv_tileaa.mem_token) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %35:2 = "nv_tileaa.tiled_load"(%22, %arg10, %0) : (!nv_tileaa.tiled_view<64, !nv_tileaa.memref<?xf16, strides=[1], global>, padding=zero>, i32, !nv_tileaa.mem_token) -> (tensor<64xf16>, !nv_tileaa.mem_token)
    %36 = "nv_tileaa.view"(%35#0) : (tensor<64xf16>) -> tensor<1x64xf16>
    %37 = "nv_tileaa.broadcast"(%36) : (tensor<1x64xf16>) -> tensor<128x64xf16>
    %38 = "arith.mulf"(%33#0, %37) : (tensor<128x64xf16>, tensor<128x64xf16>) -> tensor<128x64xf16>
    %39 = "arith.negf"(%38) : (tensor<128x64xf16>) -> tensor<128x64xf16>
    %40 = "nv_tileaa.permute"(%34#0) <{permutation = array<i64: 1, 0>}> : (tensor<128x64xf16>) -> tensor<64x128xf16>
    %41 = "nv_tileaa.dot"(%39, %40, %arg11) : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    "scf.yield"(%41) : (tensor<128x128xf32>) -> ()
  }) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32>
  %32 = "nv_tileaa.tiled_store"(%31, %23, %24, %25, %0) : (tensor<128x128xf32>, !nv_tileaa.tiled_view<128x128, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>>, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  "nv_tileaa.return"() : () -> ()
}) : () -> ()
