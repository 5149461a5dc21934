"nv_tileaa.func"() <{module = "flash_attention", names = ["q", "k", "v", "out", "heads", "m", "n", "ldq", "ldk", "ldv", "ldo", "scale"], sym_name = "flash_attention"}> ({
^bb0(%arg0: !nv_tileaa.ptr<f16>, %arg1: !nv_tileaa.ptr<f16>, %arg2: !nv_tileaa.ptr<f16>, %arg3: !nv_tileaa.ptr<f16>, %arg4: i32, %arg5: i32, %arg6: i32, %arg7: i32, %arg8: i32, %arg9: i32, %arg10: i32, %arg11: f32):
  %0 = "nv_tileaa.create_mem_token"() : () -> !nv_tileaa.mem_token
  %1 = "nv_tileaa.assume"(%arg0) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f16>) -> !nv_tileaa.ptr<f16>
  %2 = "nv_tileaa.assume"(%arg1) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f16>) -> !nv_tileaa.ptr<f16>
  %3 = "nv_tileaa.assume"(%arg2) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f16>) -> !nv_tileaa.ptr<f16>
  %4 = "nv_tileaa.assume"(%arg3) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f16>) -> !nv_tileaa.ptr<f16>
  %5 = "nv_tileaa.assume"(%arg4) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %6 = "nv_tileaa.assume"(%arg5) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %7 = "nv_tileaa.assume"(%arg6) <{predicate = #cuda_tile.bounded<1, ?>}> : (i32) -> i32
  %8 = "nv_tileaa.assume"(%arg7) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %9 = "nv_tileaa.assume"(%arg8) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %10 = "nv_tileaa.assume"(%arg9) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %11 = "nv_tileaa.assume"(%arg10) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %12 = "nv_tileaa.assume"(%8) <{predicate = #cuda_tile.div_by<8>}> : (i32) -> i32
  %13 = "nv_tileaa.assume"(%9) <{predicate = #cuda_tile.div_by<8>}> : (i32) -> i32
  %14 = "nv_tileaa.assume"(%10) <{predicate = #cuda_tile.div_by<8>}> : (i32) -> i32
  %15 = "nv_tileaa.assume"(%11) <{predicate = #cuda_tile.div_by<8>}> : (i32) -> i32
  %16 = "arith.muli"(%6, %12) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32
  %17 = "arith.muli"(%7, %13) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32
  %18 = "arith.muli"(%7, %14) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32
  %19 = "arith.muli"(%6, %15) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32
  %20 = "nv_tileaa.make_memref"(%1, %5, %6, %16, %12) <{operandSegmentSizes = array<i32: 1, 2, 2>}> : (!nv_tileaa.ptr<f16>, i32, i32, i32, i32) -> !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>
  %21 = "nv_tileaa.make_memref"(%2, %5, %7, %17, %13) <{operandSegmentSizes = array<i32: 1, 2, 2>}> : (!nv_tileaa.ptr<f16>, i32, i32, i32, i32) -> !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>
  %22 = "nv_tileaa.make_memref"(%3, %5, %7, %18, %14) <{operandSegmentSizes = array<i32: 1, 2, 2>}> : (!nv_tileaa.ptr<f16>, i32, i32, i32, i32) -> !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>
  %23 = "nv_tileaa.make_memref"(%4, %5, %6, %19, %15) <{operandSegmentSizes = array<i32: 1, 2, 2>}> : (!nv_tileaa.ptr<f16>, i32, i32, i32, i32) -> !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>
  %24 = "nv_tileaa.partition"(%20) : (!nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>) -> !nv_tileaa.tiled_view<1x128x64, !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>, padding=zero>
  %25 = "nv_tileaa.partition"(%21) : (!nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>) -> !nv_tileaa.tiled_view<1x64x64, !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>, padding=zero>
  %26 = "nv_tileaa.partition"(%22) : (!nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>) -> !nv_tileaa.tiled_view<1x64x64, !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>, padding=zero>
  %27 = "nv_tileaa.partition"(%23) : (!nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>) -> !nv_tileaa.tiled_view<1x128x64, !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>>
  %28 = "nv_tileaa.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %29 = "nv_tileaa.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %30 = "nv_tileaa.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %31 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %32 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %33 = "arith.constant"() <{value = 64 : i32}> : () -> i32
  %34 = "nv_tileaa.constant_tensor"() <{value = dense<0.000000e+00> : tensor<128x64xf32>}> : () -> tensor<128x64xf32>
  %35 = "nv_tileaa.constant_tensor"() <{value = dense<0xFF800000> : tensor<128x64xf32>}> : () -> tensor<128x64xf32>
  %36 = "nv_tileaa.constant_tensor"() <{value = dense<0xFF800000> : tensor<128x1xf32>}> : () -> tensor<128x1xf32>
  %37 = "nv_tileaa.constant_tensor"() <{value = dense<0.000000e+00> : tensor<128x1xf32>}> : () -> tensor<128x1xf32>
  %38 = "nv_tileaa.constant_tensor"() <{value = dense<1.000000e+00> : tensor<128x1xf32>}> : () -> tensor<128x1xf32>
  %39 = "arith.constant"() <{value = 1.44269502 : f32}> : () -> f32
  %40 = "arith.mulf"(%arg11, %39) : (f32, f32) -> f32
  %41 = "nv_tileaa.view"(%40) : (f32) -> tensor<1x1xf32>
  %42 = "nv_tileaa.broadcast"(%41) : (tensor<1x1xf32>) -> tensor<128x1xf32>
  %43 = "nv_tileaa.broadcast"(%41) : (tensor<1x1xf32>) -> tensor<128x64xf32>
  %44 = "nv_tileaa.iota"() : () -> tensor<64xi32>
  %45 = "nv_tileaa.view"(%7) : (i32) -> tensor<1xi32>
  %46 = "nv_tileaa.broadcast"(%45) : (tensor<1xi32>) -> tensor<64xi32>
  %47:3 = "nv_tileaa.index_space_shape"(%25) : (!nv_tileaa.tiled_view<1x64x64, !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>, padding=zero>) -> (i32, i32, i32)
  %48:2 = "nv_tileaa.tiled_load"(%24, %29, %28, %31, %0) : (!nv_tileaa.tiled_view<1x128x64, !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>, padding=zero>, i32, i32, i32, !nv_tileaa.mem_token) -> (tensor<1x128x64xf16>, !nv_tileaa.mem_token)
  %49 = "nv_tileaa.view"(%48#0) : (tensor<1x128x64xf16>) -> tensor<128x64xf16>
  %50:3 = "scf.for"(%31, %47#1, %32, %36, %37, %34) ({
  ^bb0(%arg12: i32, %arg13: tensor<128x1xf32>, %arg14: tensor<128x1xf32>, %arg15: tensor<128x64xf32>):
    %57:2 = "nv_tileaa.tiled_load"(%25, %29, %arg12, %31, %0) : (!nv_tileaa.tiled_view<1x64x64, !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>, padding=zero>, i32, i32, i32, !nv_tileaa.mem_token) -> (tensor<1x64x64xf16>, !nv_tileaa.mem_token)
    %58 = "nv_tileaa.view"(%57#0) : (tensor<1x64x64xf16>) -> tensor<64x64xf16>
    %59 = "nv_tileaa.permute"(%58) <{permutation = array<i64: 1, 0>}> : (tensor<64x64xf16>) -> tensor<64x64xf16>
    %60 = "nv_tileaa.dot"(%49, %59, %34) : (tensor<128x64xf16>, tensor<64x64xf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %61 = "arith.muli"(%arg12, %33) : (i32, i32) -> i32
    %62 = "nv_tileaa.view"(%61) : (i32) -> tensor<1xi32>
    %63 = "nv_tileaa.broadcast"(%62) : (tensor<1xi32>) -> tensor<64xi32>
    %64 = "arith.addi"(%63, %44) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
    %65 = "arith.cmpi"(%64, %46) <{predicate = 2 : i64}> : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
    %66 = "nv_tileaa.view"(%65) : (tensor<64xi1>) -> tensor<1x64xi1>
    %67 = "nv_tileaa.broadcast"(%66) : (tensor<1x64xi1>) -> tensor<128x64xi1>
    %68 = "arith.select"(%67, %60, %35) : (tensor<128x64xi1>, tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %69 = "nv_tileaa.reduce"(%68) <{dim = 1 : i64, identities = [0xFFF0000000000000 : f64]}> ({
    ^bb0(%arg16: f32, %arg17: f32):
      %88 = "arith.maxnumf"(%arg16, %arg17) : (f32, f32) -> f32
      "tilesat.scf.yield"(%88) : (f32) -> ()
    }) : (tensor<128x64xf32>) -> tensor<128xf32>
    %70 = "nv_tileaa.view"(%69) : (tensor<128xf32>) -> tensor<128x1xf32>
    %71 = "arith.mulf"(%70, %42) : (tensor<128x1xf32>, tensor<128x1xf32>) -> tensor<128x1xf32>
    %72 = "arith.maxnumf"(%arg13, %71) : (tensor<128x1xf32>, tensor<128x1xf32>) -> tensor<128x1xf32>
    %73 = "arith.negf"(%72) : (tensor<128x1xf32>) -> tensor<128x1xf32>
    %74 = "nv_tileaa.broadcast"(%73) : (tensor<128x1xf32>) -> tensor<128x64xf32>
    %75 = "math.fma"(%68, %43, %74) : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %76 = "math.exp2"(%75) : (tensor<128x64xf32>) -> tensor<128x64xf32>
    %77 = "arith.subf"(%arg13, %72) : (tensor<128x1xf32>, tensor<128x1xf32>) -> tensor<128x1xf32>
    %78 = "math.exp2"(%77) : (tensor<128x1xf32>) -> tensor<128x1xf32>
    %79 = "nv_tileaa.reduce"(%76) <{dim = 1 : i64, identities = [0.000000e+00 : f64]}> ({
    ^bb0(%arg16: f32, %arg17: f32):
      %88 = "arith.addf"(%arg16, %arg17) : (f32, f32) -> f32
      "tilesat.scf.yield"(%88) : (f32) -> ()
    }) : (tensor<128x64xf32>) -> tensor<128xf32>
    %80 = "nv_tileaa.view"(%79) : (tensor<128xf32>) -> tensor<128x1xf32>
    %81 = "math.fma"(%arg14, %78, %80) : (tensor<128x1xf32>, tensor<128x1xf32>, tensor<128x1xf32>) -> tensor<128x1xf32>
    %82:2 = "nv_tileaa.tiled_load"(%26, %29, %arg12, %31, %0) : (!nv_tileaa.tiled_view<1x64x64, !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>, padding=zero>, i32, i32, i32, !nv_tileaa.mem_token) -> (tensor<1x64x64xf16>, !nv_tileaa.mem_token)
    %83 = "nv_tileaa.view"(%82#0) : (tensor<1x64x64xf16>) -> tensor<64x64xf16>
    %84 = "arith.truncf"(%76) : (tensor<128x64xf32>) -> tensor<128x64xf16>
    %85 = "nv_tileaa.broadcast"(%78) : (tensor<128x1xf32>) -> tensor<128x64xf32>
    %86 = "arith.mulf"(%arg15, %85) : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %87 = "nv_tileaa.dot"(%84, %83, %86) : (tensor<128x64xf16>, tensor<64x64xf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    "scf.yield"(%72, %81, %87) : (tensor<128x1xf32>, tensor<128x1xf32>, tensor<128x64xf32>) -> ()
  }) : (i32, i32, i32, tensor<128x1xf32>, tensor<128x1xf32>, tensor<128x64xf32>) -> (tensor<128x1xf32>, tensor<128x1xf32>, tensor<128x64xf32>)
  %51 = "arith.divf"(%38, %50#1) : (tensor<128x1xf32>, tensor<128x1xf32>) -> tensor<128x1xf32>
  %52 = "nv_tileaa.broadcast"(%51) : (tensor<128x1xf32>) -> tensor<128x64xf32>
  %53 = "arith.mulf"(%50#2, %52) : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  %54 = "arith.truncf"(%53) : (tensor<128x64xf32>) -> tensor<128x64xf16>
  %55 = "nv_tileaa.view"(%54) : (tensor<128x64xf16>) -> tensor<1x128x64xf16>
  %56 = "nv_tileaa.tiled_store"(%55, %27, %29, %28, %31, %0) : (tensor<1x128x64xf16>, !nv_tileaa.tiled_view<1x128x64, !nv_tileaa.memref<?x?x64xf16, strides=[?, ?, 1], global>>, i32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  "nv_tileaa.return"() : () -> ()
}) : () -> ()
