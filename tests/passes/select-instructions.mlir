// RUN: tilesat opt %s --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,select-instructions | filecheck %s

// Constants are immediates, the predicate of the store is its guard; values that a block hands over are on its edges.

// CHECK: $B0([[X:%rd[0-9]+]], [[Y:%rd[0-9]+]], [[N:%r[0-9]+]]):
// CHECK: cvta.to.global.u64 [[X]],
// CHECK: mov.u32 [[THREAD:%r[0-9]+]], %tid.x;
// CHECK-NEXT: setp.eq.s32 [[FIRST:%p[0-9]+]], [[THREAD]], 0;
// CHECK: @%p{{[0-9]+}} bra $B1([[I:%r[0-9]+]] = 0, [[SUM:%f[0-9]+]] = 0f00000000);
// CHECK: $B1([[I]], [[SUM]]):
// CHECK: add.rn.f32 [[NEXT:%f[0-9]+]], [[SUM]],
// CHECK: bra $B1({{.*}}, [[SUM]] = [[NEXT]]);
// CHECK: bra $B2([[ALL:%f[0-9]+]] = [[NEXT]]);
// CHECK: @[[FIRST]] st.global.b32 {{\[}}[[Y]]], [[ALL]];
// CHECK-NEXT: ret;

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
