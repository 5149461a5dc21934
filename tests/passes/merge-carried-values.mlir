// RUN: tilesat opt %s --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,merge-carried-values | filecheck %s
// RUN: tilesat opt %s --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,merge-carried-values --pass-statistics 2>&1 \
// | filecheck %s --check-prefix COUNT

// Two numbers begin alike and go on alike, so one is carried beside the counter, and one left. The third begins elsewhere.

// CHECK: {{\^bb[0-9]+}}([[I:%[a-z0-9]+]]: i32, [[A:%[a-z0-9]+]]: i32, [[C:%[a-z0-9]+]]: i32):
// CHECK: "tilesat.nvvm.ld"
// CHECK: [[PRODUCT:%.*]] = "llvm.mul"([[A]],
// CHECK: [[NEXT:%.*]] = "llvm.add"([[PRODUCT]],
// CHECK: "llvm.cond_br"({{%.*}}, {{%.*}}, [[NEXT]], {{%[a-z0-9]+}})[
// COUNT: merge-carried-values {{ +}}2 block arguments removed

cuda_tile.module @m {
  entry @alike(%x: tile<ptr<i32>>, %y: tile<ptr<i32>>, %z: tile<ptr<i32>>, %n: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %three = constant <i32: 3> : tile<i32>
    %a0, %b0, %c0 = for %i in (%zero to %n, step %one) : tile<i32>
        iter_values(%a = %zero, %b = %zero, %c = %one) -> (tile<i32>, tile<i32>, tile<i32>) {
      %p = offset %x, %a : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %q = offset %y, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %r = offset %z, %c : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
      %u = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
      %w = store_ptr_tko weak %r, %v : tile<ptr<i32>>, tile<i32> -> token
      %am = muli %a, %three : tile<i32>
      %bm = muli %b, %three : tile<i32>
      %cm = muli %c, %three : tile<i32>
      %an = addi %am, %one : tile<i32>
      %bn = addi %bm, %one : tile<i32>
      %cn = addi %cm, %one : tile<i32>
      continue %an, %bn, %cn : tile<i32>, tile<i32>, tile<i32>
    }
    return
  }
}
