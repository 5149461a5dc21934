// RUN: tilesat opt %s --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm | filecheck %s

// The loop becomes a block with arguments, entered where it has a trip. The number of the thread modulo the threads of
// the block is that number.

// CHECK: [[ZERO:%.*]] = "llvm.mlir.constant"() <{{.*}}0 : i32
// CHECK: [[THREAD:%.*]] = "nvvm.read.ptx.sreg.tid.x"
// CHECK-NEXT: [[FIRST:%.*]] = "llvm.icmp"([[THREAD]], [[ZERO]])
// CHECK: "llvm.cond_br"({{.*}})[^bb1, ^bb2]
// CHECK-NEXT: ^bb1([[I:%.*]]: i32, [[PART:%.*]]: f32):
// CHECK: [[NEXT:%.*]] = "llvm.fadd"([[PART]],
// CHECK: [[AGAIN:%.*]] = "llvm.icmp"(
// CHECK-NEXT: "llvm.cond_br"([[AGAIN]], {{.*}}[[NEXT]], [[NEXT]])[^bb1, ^bb2]
// CHECK-NEXT: ^bb2([[SUM:%.*]]: f32):
// CHECK: [[FIRST]]
// CHECK-NEXT: "llvm.return"
// CHECK-NOT: "arith.

cuda_tile.module @m {
  entry @sum(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %n: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %none = constant <f32: 0.0> : tile<f32>
    %all = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%sum = %none) -> (tile<f32>) {
      %p = offset %x, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
      %next = addf %sum, %v : tile<f32>
      continue %next : tile<f32>
    }
    %u = store_ptr_tko weak %y, %all : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
