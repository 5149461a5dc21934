"nv_tileaa.func"() <{module = "layernorm", names = ["x", "weight", "bias", "y", "m", "n", "ldx", "ldy", "eps"], sym_name = "layernorm"}> ({
^bb0(%arg0: !nv_tileaa.ptr<f32>, %arg1: !nv_tileaa.ptr<f32>, %arg2: !nv_tileaa.ptr<f32>, %arg3: !nv_tileaa.ptr<f32>, %arg4: i32, %arg5: i32, %arg6: i32, %arg7: i32, %arg8: f32):
  %0 = "nv_tileaa.create_mem_token"() : () -> !nv_tileaa.mem_token
  %1 = "nv_tileaa.assume"(%arg0) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %2 = "nv_tileaa.assume"(%arg1) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %3 = "nv_tileaa.assume"(%arg2) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %4 = "nv_tileaa.assume"(%arg3) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %5 = "nv_tileaa.assume"(%arg4) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %6 = "nv_tileaa.assume"(%arg5) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %7 = "nv_tileaa.assume"(%arg6) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %8 = "nv_tileaa.assume"(%arg7) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %9 = "nv_tileaa.assume"(%7) <{predicate = #cuda_tile.div_by<4>}> : (i32) -> i32
  %10 = "nv_tileaa.assume"(%8) <{predicate = #cuda_tile.div_by<4>}> : (i32) -> i32
  %11 = "nv_tileaa.make_memref"(%1, %5, %6, %9) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>
  %12 = "nv_tileaa.make_memref"(%2, %6) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.memref<?xf32, strides=[1], global>
  %13 = "nv_tileaa.make_memref"(%3, %6) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.memref<?xf32, strides=[1], global>
  %14 = "nv_tileaa.make_memref"(%4, %5, %6, %10) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>
  %15 = "nv_tileaa.partition"(%11) : (!nv_tileaa.memref<?x?xf32, strides=[?, 1], global>) -> !nv_tileaa.tiled_view<1x1024, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>, padding=zero>
  %16 = "nv_tileaa.partition"(%12) : (!nv_tileaa.memref<?xf32, strides=[1], global>) -> !nv_tileaa.tiled_view<1024, !nv_tileaa.memref<?xf32, strides=[1], global>, padding=zero>
  %17 = "nv_tileaa.partition"(%13) : (!nv_tileaa.memref<?xf32, strides=[1], global>) -> !nv_tileaa.tiled_view<1024, !nv_tileaa.memref<?xf32, strides=[1], global>, padding=zero>
  %18 = "nv_tileaa.partition"(%14) : (!nv_tileaa.memref<?x?xf32, strides=[?, 1], global>) -> !nv_tileaa.tiled_view<1x1024, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>>
  %19 = "nv_tileaa.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %20 = "nv_tileaa.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %21 = "nv_tileaa.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %22 = "arith.constant"() <{value = 0 : i32}> : () -> i32
  %23 = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %24 = "arith.constant"() <{value = 1024 : i32}> : () -> i32
  %25 = "nv_tileaa.constant_tensor"() <{value = dense<0.000000e+00> : tensor<1x1024xf32>}> : () -> tensor<1x1024xf32>
  %26:2 = "nv_tileaa.index_space_shape"(%15) : (!nv_tileaa.tiled_view<1x1024, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>, padding=zero>) -> (i32, i32)
  %27 = "arith.sitofp"(%6) : (i32) -> f32
  %28 = "nv_tileaa.view"(%27) : (f32) -> tensor<1x1xf32>
  %29 = "scf.for"(%22, %26#1, %23, %25) ({
  ^bb0(%arg9: i32, %arg10: tensor<1x1024xf32>):
    %45:2 = "nv_tileaa.tiled_load"(%15, %19, %arg9, %0) : (!nv_tileaa.tiled_view<1x1024, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>, padding=zero>, i32, i32, !nv_tileaa.mem_token) -> (tensor<1x1024xf32>, !nv_tileaa.mem_token)
    %46 = "arith.addf"(%arg10, %45#0) : (tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    "scf.yield"(%46) : (tensor<1x1024xf32>) -> ()
  }) : (i32, i32, i32, tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %30 = "nv_tileaa.reduce"(%29) <{dim = 1 : i64, identities = [0.000000e+00 : f64]}> ({
  ^bb0(%arg9: f32, %arg10: f32):
    %45 = "arith.addf"(%arg9, %arg10) : (f32, f32) -> f32
    "tilesat.scf.yield"(%45) : (f32) -> ()
  }) : (tensor<1x1024xf32>) -> tensor<1xf32>
  %31 = "nv_tileaa.view"(%30) : (tensor<1xf32>) -> tensor<1x1xf32>
  %32 = "arith.divf"(%31, %28) : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %33 = "nv_tileaa.broadcast"(%32) : (tensor<1x1xf32>) -> tensor<1x1024xf32>
  %34 = "nv_tileaa.iota"() : () -> tensor<1024xi32>
  %35 = "nv_tileaa.view"(%6) : (i32) -> tensor<1xi32>
  %36 = "nv_tileaa.broadcast"(%35) : (tensor<1xi32>) -> tensor<1024xi32>
  %37 = "scf.for"(%22, %26#1, %23, %25) ({
  ^bb0(%arg9: i32, %arg10: tensor<1x1024xf32>):
    %45:2 = "nv_tileaa.tiled_load"(%15, %19, %arg9, %0) : (!nv_tileaa.tiled_view<1x1024, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>, padding=zero>, i32, i32, !nv_tileaa.mem_token) -> (tensor<1x1024xf32>, !nv_tileaa.mem_token)
    %46 = "arith.muli"(%arg9, %24) : (i32, i32) -> i32
    %47 = "nv_tileaa.view"(%46) : (i32) -> tensor<1xi32>
    %48 = "nv_tileaa.broadcast"(%47) : (tensor<1xi32>) -> tensor<1024xi32>
    %49 = "arith.addi"(%48, %34) : (tensor<1024xi32>, tensor<1024xi32>) -> tensor<1024xi32>
    %50 = "arith.cmpi"(%49, %36) <{predicate = 2 : i64}> : (tensor<1024xi32>, tensor<1024xi32>) -> tensor<1024xi1>
    %51 = "nv_tileaa.view"(%50) : (tensor<1024xi1>) -> tensor<1x1024xi1>
    %52 = "arith.subf"(%45#0, %33) : (tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    %53 = "arith.select"(%51, %52, %25) : (tensor<1x1024xi1>, tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    %54 = "math.fma"(%53, %53, %arg10) : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    "scf.yield"(%54) : (tensor<1x1024xf32>) -> ()
  }) : (i32, i32, i32, tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %38 = "nv_tileaa.reduce"(%37) <{dim = 1 : i64, identities = [0.000000e+00 : f64]}> ({
  ^bb0(%arg9: f32, %arg10: f32):
    %45 = "arith.addf"(%arg9, %arg10) : (f32, f32) -> f32
    "tilesat.scf.yield"(%45) : (f32) -> ()
  }) : (tensor<1x1024xf32>) -> tensor<1xf32>
  %39 = "nv_tileaa.view"(%38) : (tensor<1xf32>) -> tensor<1x1xf32>
  %40 = "arith.divf"(%39, %28) : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %41 = "nv_tileaa.view"(%arg8) : (f32) -> tensor<1x1xf32>
  %42 = "arith.addf"(%40, %41) : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %43 = "math.rsqrt"(%42) : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %44 = "nv_tileaa.broadcast"(%43) : (tensor<1x1xf32>) -> tensor<1x1024xf32>
  "scf.for"(%22, %26#1, %23) ({
  ^bb0(%arg9: i32):
    %45:2 = "nv_tileaa.tiled_load"(%15, %19, %arg9, %0) : (!nv_tileaa.tiled_view<1x1024, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>, padding=zero>, i32, i32, !nv_tileaa.mem_token) -> (tensor<1x1024xf32>, !nv_tileaa.mem_token)
    %46:2 = "nv_tileaa.tiled_load"(%16, %arg9, %0) : (!nv_tileaa.tiled_view<1024, !nv_tileaa.memref<?xf32, strides=[1], global>, padding=zero>, i32, !nv_tileaa.mem_token) -> (tensor<1024xf32>, !nv_tileaa.mem_token)
    %47:2 = "nv_tileaa.tiled_load"(%17, %arg9, %0) : (!nv_tileaa.tiled_view<1024, !nv_tileaa.memref<?xf32, strides=[1], global>, padding=zero>, i32, !nv_tileaa.mem_token) -> (tensor<1024xf32>, !nv_tileaa.mem_token)
    %48 = "nv_tileaa.view"(%46#0) : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %49 = "nv_tileaa.view"(%47#0) : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %50 = "arith.subf"(%45#0, %33) : (tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    %51 = "arith.mulf"(%50, %44) : (tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    %52 = "math.fma"(%51, %48, %49) : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    %53 = "nv_tileaa.tiled_store"(%52, %18, %19, %arg9, %0) : (tensor<1x1024xf32>, !nv_tileaa.tiled_view<1x1024, !nv_tileaa.memref<?x?xf32, strides=[?, 1], global>>, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    "scf.yield"() : () -> ()
  }) : (i32, i32, i32) -> ()
  "nv_tileaa.return"() : () -> ()
}) : () -> ()
