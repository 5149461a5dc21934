// RUN: tilesat opt %s --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,simplify-branches | filecheck %s
// RUN: tilesat opt %s --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,simplify-branches --pass-statistics 2>&1 | filecheck %s --check-prefix COUNT

// The loop ends in its middle: no predicate is carried to its end, the test leads out of it, and what follows the test
// is done behind it.

// CHECK: "llvm.br"({{.*}})[^bb1]
// CHECK-NEXT: ^bb1([[N:%.*]]: i32, [[TRIPS:%.*]]: i32):
// CHECK-NEXT: [[ENDS:%.*]] = "llvm.icmp"([[N]]
// CHECK-NEXT: "llvm.cond_br"([[ENDS]]{{.*}})[^bb3, ^bb2]
// CHECK-NEXT: ^bb2:
// CHECK: "llvm.br"({{.*}})[^bb1]
// CHECK-NEXT: ^bb3
// COUNT: simplify-branches {{ +[0-9]+}} edges redirected, operations hoisted out of both branches

cuda_tile.module @m {
  entry @halvings(%y: tile<ptr<i32>>, %n: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %two = constant <i32: 2> : tile<i32>
    %last, %all = loop iter_values(%x = %n, %count = %zero) : tile<i32>, tile<i32> -> tile<i32>, tile<i32> {
      %ends = cmpi less_than_or_equal %x, %one, signed : tile<i32> -> tile<i1>
      if %ends {
        break %x, %count : tile<i32>, tile<i32>
      }
      %p = offset %y, %count : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
      %half = divi %x, %two unsigned : tile<i32>
      %next = addi %count, %one : tile<i32>
      continue %half, %next : tile<i32>, tile<i32>
    }
    return
  }
}
