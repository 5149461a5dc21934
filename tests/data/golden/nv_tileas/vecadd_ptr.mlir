"nv_tileas.func"() <{sym_name = "vecadd_ptr", target = "sm_80", warps = 4 : i64}> ({
^bb0(%arg0: !llvm.ptr<1>, %arg1: !llvm.ptr<1>, %arg2: !llvm.ptr<1>, %arg3: i32):
  %0 = "nv_tileas.iota"() : () -> tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %1 = "arith.constant"() <{value = 1024 : i32}> : () -> i32
  %2 = "nv_tileas.get_program_id"() <{axis = 0 : i64}> : () -> i32
  %3 = "nv_tileas.get_program_id"() <{axis = 1 : i64}> : () -> i32
  %4 = "nv_tileas.get_program_id"() <{axis = 2 : i64}> : () -> i32
  %5 = "arith.muli"(%2, %1) : (i32, i32) -> i32
  %6 = "nv_tileas.reshape"(%5) : (i32) -> tensor<1xi32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %7 = "nv_tileas.broadcast"(%6) : (tensor<1xi32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %8 = "arith.addi"(%7, %0) : (tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %9 = "nv_tileas.reshape"(%arg2) : (!llvm.ptr<1>) -> tensor<1xptr<f32>, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %10 = "nv_tileas.broadcast"(%9) : (tensor<1xptr<f32>, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1024xptr<f32>, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %11 = "nv_tileas.addptr"(%10, %8) <{element_bytes = 4 : i64}> : (tensor<1024xptr<f32>, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1024xptr<f32>, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %12 = "nv_tileas.constant"() <{value = dense<0.000000e+00> : tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>}> : () -> tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %13 = "nv_tileas.reshape"(%arg3) : (i32) -> tensor<1xi32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %14 = "nv_tileas.broadcast"(%13) : (tensor<1xi32, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %15 = "arith.cmpi"(%8, %14) <{predicate = "slt"}> : (tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1024xi1, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %16 = "nv_tileas.reshape"(%arg1) : (!llvm.ptr<1>) -> tensor<1xptr<f32>, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %17 = "nv_tileas.broadcast"(%16) : (tensor<1xptr<f32>, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1024xptr<f32>, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %18 = "nv_tileas.addptr"(%17, %8) <{element_bytes = 4 : i64}> : (tensor<1024xptr<f32>, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1024xptr<f32>, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %19 = "nv_tileas.gather"(%18, %15, %12) <{width = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<1024xptr<f32>, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xi1, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %20 = "nv_tileas.reshape"(%arg0) : (!llvm.ptr<1>) -> tensor<1xptr<f32>, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>
  %21 = "nv_tileas.broadcast"(%20) : (tensor<1xptr<f32>, #linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0, 0]>>) -> tensor<1024xptr<f32>, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %22 = "nv_tileas.addptr"(%21, %8) <{element_bytes = 4 : i64}> : (tensor<1024xptr<f32>, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xi32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1024xptr<f32>, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %23 = "nv_tileas.gather"(%22, %15, %12) <{width = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<1024xptr<f32>, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xi1, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  %24 = "arith.addf"(%23, %19) : (tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>
  "nv_tileas.scatter"(%11, %24, %15) <{width = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<1024xptr<f32>, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xf32, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>, tensor<1024xi1, #linear<reg=[128, 256, 512], lane=[1, 2, 4, 8, 16], warp=[32, 64]>>) -> ()
  "nv_tileas.return"() : () -> ()
}) : () -> ()
