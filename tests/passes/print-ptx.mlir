// RUN: tilesat opt %s --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,select-instructions,grant-registers,coalesce-registers,print-ptx \
// | filecheck %s

// CHECK: .version {{[0-9]+\.[0-9]+}}
// CHECK: .target sm_80
// CHECK: .visible .entry sum(
// CHECK-NEXT: .param .u64 .ptr .global .align 1 sum_param_0,
// CHECK: .reqntid 128, 1, 1
// CHECK-NOT: .minnctapersm
// CHECK: .reg .pred %p<3>;
// CHECK: mov.b32 [[SUM:%f[0-9]+]], 0f00000000;
// CHECK: @!%p{{[0-9]+}} bra $L1;
// CHECK: $L0:
// CHECK: add.rn.f32 [[SUM]], [[SUM]], %f{{[0-9]+}};
// CHECK: bra $L0;
// CHECK: $L1:
// CHECK: ret;
// CHECK-NEXT: }

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
