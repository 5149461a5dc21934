// RUN: tilesat opt %s --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,select-instructions,coalesce-registers | filecheck %s
// RUN: tilesat opt %s --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,select-instructions,coalesce-registers,print-ptx \
// | filecheck %s --check-prefix MOVES

// The sum has one register in all three blocks, the counter one too: no edge moves anything.

// CHECK: bra $B1([[I:%r[0-9]+]] = 0, [[SUM:%f[0-9]+]] = 0f00000000);
// CHECK: bra $B2([[SUM]] = 0f00000000);
// CHECK: add.rn.f32 [[SUM]], [[SUM]],
// CHECK: add.s32 [[I]], [[I]], 1;
// CHECK: bra $B1([[I]] = [[I]], [[SUM]] = [[SUM]]);
// CHECK: st.global.b32 {{.*}}, [[SUM]];
// MOVES: $L0:
// MOVES-NOT: mov.b32
// MOVES: bra $L0;

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
