"nv_tileaa.func"() <{module = "vecadd_ptr", names = ["a", "b", "c", "n"], sym_name = "vecadd_ptr"}> ({
^bb0(%arg0: !nv_tileaa.ptr<f32>, %arg1: !nv_tileaa.ptr<f32>, %arg2: !nv_tileaa.ptr<f32>, %arg3: i32):
  %0 = "nv_tileaa.create_mem_token"() : () -> !nv_tileaa.mem_token
  %1 = "nv_tileaa.assume"(%arg0) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %2 = "nv_tileaa.assume"(%arg1) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %3 = "nv_tileaa.assume"(%arg2) <{predicate = #cuda_tile.div_by<16>}> : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<f32>
  %4 = "nv_tileaa.assume"(%arg3) <{predicate = #cuda_tile.bounded<0, ?>}> : (i32) -> i32
  %5 = "nv_tileaa.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %6 = "nv_tileaa.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %7 = "nv_tileaa.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %8 = "arith.constant"() <{value = 1024 : i32}> : () -> i32
  %9 = "arith.muli"(%5, %8) : (i32, i32) -> i32
  %10 = "nv_tileaa.view"(%9) : (i32) -> tensor<1xi32>
  %11 = "nv_tileaa.broadcast"(%10) : (tensor<1xi32>) -> tensor<1024xi32>
  %12 = "nv_tileaa.iota"() : () -> tensor<1024xi32>
  %13 = "arith.addi"(%11, %12) : (tensor<1024xi32>, tensor<1024xi32>) -> tensor<1024xi32>
  %14 = "nv_tileaa.view"(%4) : (i32) -> tensor<1xi32>
  %15 = "nv_tileaa.broadcast"(%14) : (tensor<1xi32>) -> tensor<1024xi32>
  %16 = "arith.cmpi"(%13, %15) <{predicate = 2 : i64}> : (tensor<1024xi32>, tensor<1024xi32>) -> tensor<1024xi1>
  %17 = "nv_tileaa.constant_tensor"() <{value = dense<0.000000e+00> : tensor<1024xf32>}> : () -> tensor<1024xf32>
  %18 = "nv_tileaa.view"(%1) : (!nv_tileaa.ptr<f32>) -> tensor<1x!nv_tileaa.ptr<f32>>
  %19 = "nv_tileaa.broadcast"(%18) : (tensor<1x!nv_tileaa.ptr<f32>>) -> tensor<1024x!nv_tileaa.ptr<f32>>
  %20 = "nv_tileaa.addptr"(%19, %13) <{element_bytes = 4 : i64}> : (tensor<1024x!nv_tileaa.ptr<f32>>, tensor<1024xi32>) -> tensor<1024x!nv_tileaa.ptr<f32>>
  %21:2 = "nv_tileaa.load"(%20, %16, %17, %0) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> : (tensor<1024x!nv_tileaa.ptr<f32>>, tensor<1024xi1>, tensor<1024xf32>, !nv_tileaa.mem_token) -> (tensor<1024xf32>, !nv_tileaa.mem_token)
  %22 = "nv_tileaa.view"(%2) : (!nv_tileaa.ptr<f32>) -> tensor<1x!nv_tileaa.ptr<f32>>
  %23 = "nv_tileaa.broadcast"(%22) : (tensor<1x!nv_tileaa.ptr<f32>>) -> tensor<1024x!nv_tileaa.ptr<f32>>
  %24 = "nv_tileaa.addptr"(%23, %13) <{element_bytes = 4 : i64}> : (tensor<1024x!nv_tileaa.ptr<f32>>, tensor<1024xi32>) -> tensor<1024x!nv_tileaa.ptr<f32>>
  %25:2 = "nv_tileaa.load"(%24, %16, %17, %0) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> : (tensor<1024x!nv_tileaa.ptr<f32>>, tensor<1024xi1>, tensor<1024xf32>, !nv_tileaa.mem_token) -> (tensor<1024xf32>, !nv_tileaa.mem_token)
  %26 = "arith.addf"(%21#0, %25#0) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %27 = "nv_tileaa.view"(%3) : (!nv_tileaa.ptr<f32>) -> tensor<1x!nv_tileaa.ptr<f32>>
  %28 = "nv_tileaa.broadcast"(%27) : (tensor<1x!nv_tileaa.ptr<f32>>) -> tensor<1024x!nv_tileaa.ptr<f32>>
  %29 = "nv_tileaa.addptr"(%28, %13) <{element_bytes = 4 : i64}> : (tensor<1024x!nv_tileaa.ptr<f32>>, tensor<1024xi32>) -> tensor<1024x!nv_tileaa.ptr<f32>>
  %30 = "nv_tileaa.store"(%29, %26, %16, %0) : (tensor<1024x!nv_tileaa.ptr<f32>>, tensor<1024xf32>, tensor<1024xi1>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  "nv_tileaa.return"() : () -> ()
}) : () -> ()
