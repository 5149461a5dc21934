// RUN: tilesat opt %s --target sm_80 --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,convert-nvvm-to-llvm | filecheck %s

// A module that mlir-opt takes: integers and addresses are LLVM's operations, a load under a predicate is inline PTX at their address.

// CHECK: gpu.module @kernels [#nvvm.target<chip = "sm_80"
// CHECK: llvm.func @copy(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>, %2: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>}
// CHECK: [[THREAD:%.*]] = "nvvm.read.ptx.sreg.tid.x"
// CHECK: [[INSIDE:%.*]] = "llvm.icmp"([[THREAD]], %2) <{predicate = 2 : i64}> : (i32, i32) -> i1
// CHECK: [[PLACE:%.*]] = "llvm.getelementptr"(%0, [[THREAD]]) <{elem_type = !llvm.array<4 x i8>
// CHECK: "llvm.inline_asm"([[INSIDE]], [[PLACE]]) <{asm_string = "mov.b32 $0, 0f00000000; @$1 ld.global{{.*}}.b32 $0, $2;", constraints = "=&f,b,*m,~{memory}", has_side_effects, operand_attrs = [{}, {elementtype = i8}]}>
// CHECK: "llvm.return"
// CHECK-NOT: "tilesat.

cuda_tile.module @m {
  entry @copy(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %n: tile<i32>) {
    %i = iota : tile<128xi32>
    %none = constant <f32: 0.0> : tile<128xf32>
    %n1 = reshape %n : tile<i32> -> tile<1xi32>
    %all = broadcast %n1 : tile<1xi32> -> tile<128xi32>
    %inside = cmpi less_than %i, %all, signed : tile<128xi32> -> tile<128xi1>
    %x1 = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
    %xs = broadcast %x1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
    %from = offset %xs, %i : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
    %v, %t = load_ptr_tko weak %from, %inside, %none : tile<128xptr<f32>>, tile<128xi1>, tile<128xf32> -> tile<128xf32>, token
    %y1 = reshape %y : tile<ptr<f32>> -> tile<1xptr<f32>>
    %ys = broadcast %y1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
    %to = offset %ys, %i : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
    %u = store_ptr_tko weak %to, %v, %inside : tile<128xptr<f32>>, tile<128xf32>, tile<128xi1> -> token
    return
  }
}
