// RUN: tilesat opt %s --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,\
// convert-tileas-to-nvgpu | filecheck %s

// All 128 threads compute the sum, the first of them stores it.

// CHECK: "tilesat.gpu.func"() <{{.*}}block = array<i64: 128, 1, 1>
// CHECK: [[THREAD:%.*]] = "tilesat.gpu.thread_id"
// CHECK: [[FIRST:%.*]] = "arith.cmpi"(
// CHECK: [[SUM:%.*]] = "scf.for"(
// CHECK-NEXT: ^bb0([[I:%.*]]: i32, [[PART:%.*]]: f32):
// CHECK-NEXT: [[PLACE:%.*]] = "tilesat.llvm.getelementptr"({{.*}}, [[I]])
// CHECK-NEXT: [[V:%.*]] = "tilesat.nvgpu.load"([[PLACE]])
// CHECK-NEXT: [[NEXT:%.*]] = "arith.addf"([[PART]], [[V]])
// CHECK-NEXT: "scf.yield"([[NEXT]])
// CHECK: "tilesat.nvgpu.store"([[SUM]], {{.*}}, [[FIRST]])
// CHECK-NOT: nv_tileas

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
