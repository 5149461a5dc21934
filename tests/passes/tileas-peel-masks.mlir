// RUN: tilesat opt %s --target sm_90a --passes \
// encode,saturate,extract,decode,tileas-rotate-loops,tileas-materialize-schedule,tileas-lower-pipelines,tileas-peel-masks \
// | filecheck %s
// RUN: tilesat opt %s --target sm_90a --passes \
// encode,saturate,extract,decode,tileas-rotate-loops,tileas-materialize-schedule,tileas-lower-pipelines,tileas-peel-masks \
// --pass-statistics 2>&1 | filecheck %s --check-prefix COUNT

// All but the last iteration have keys in all columns: their loop has no select of scores, and the loop behind it goes on
// with what it carries, once its sums are there. What reads scores comes before the product that takes their place, since
// enough is left to do beside it.

// CHECK: "arith.trunci"
// CHECK: [[BACK:%.*]] = "arith.trunci"{{.*}} (i64) -> i32
// CHECK: [[LOOP:%.*]]:5 = "scf.for"({{%.*}}, [[BACK]], {{%.*}})
// CHECK-NOT: "arith.select"({{.*}}64x64xf32
// CHECK: "math.exp2"
// CHECK: "nv_tileas.dot"{{.*}}in_flight
// CHECK: "scf.yield"
// CHECK: [[SUM:%.*]] = "nv_tileas.async.dot_wait"([[LOOP]]#0)
// CHECK: "scf.for"([[BACK]], {{%.*}}, {{%.*}}, [[SUM]], [[LOOP]]#1
// CHECK: "arith.select"({{.*}}64x64xf32
// CHECK: "nv_tileas.dot"
// CHECK: "math.exp2"
// COUNT-DAG: 1 loops split

cuda_tile.module @m {
  entry @sums(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f16>>, %d: tile<ptr<f32>>, %length: tile<i32>) {
    %t0 = make_token : token
    %ap = assume div_by<16>, %a : tile<ptr<f16>>
    %bp = assume div_by<16>, %b : tile<ptr<f16>>
    %cp = assume div_by<16>, %c : tile<ptr<f16>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %none = constant <f32: 0.0> : tile<64x64xf32>
    %width = constant <i32: 64> : tile<i32>
    %never = constant <f32: 0xFF800000> : tile<64x64xf32>
    %column = iota : tile<64xi32>
    %columns = reshape %column : tile<64xi32> -> tile<1x64xi32>
    %end = reshape %length : tile<i32> -> tile<1x1xi32>
    %ends = broadcast %end : tile<1x1xi32> -> tile<1x64xi32>
    %n = divi %length, %width signed rounding<positive_inf> : tile<i32>
    %quarter = constant <f32: 0.25> : tile<64x64xf32>
    %av = make_tensor_view %ap, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf16, strides=[64,1]>
    %bv = make_tensor_view %bp, shape = [64, 512], strides = [512, 1] : tensor_view<64x512xf16, strides=[512,1]>
    %cv = make_tensor_view %cp, shape = [512, 64], strides = [64, 1] : tensor_view<512x64xf16, strides=[64,1]>
    %dv = make_tensor_view %d, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
    %as = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>
    %bs = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<64x512xf16, strides=[512,1]>>
    %cs = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<512x64xf16, strides=[64,1]>>
    %ds = make_partition_view %dv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
    %x, %t1 = load_view_tko weak %as[%zero, %zero] token = %t0
      : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %s = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%sum = %none) -> (tile<64x64xf32>) {
      %y, %t2 = load_view_tko weak %bs[%zero, %k] token = %t0
        : partition_view<tile=(64x64), tensor_view<64x512xf16, strides=[512,1]>>, tile<i32> -> tile<64x64xf16>, token
      %p = mmaf %x, %y, %none : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      %from = muli %k, %width : tile<i32>
      %first = reshape %from : tile<i32> -> tile<1x1xi32>
      %firsts = broadcast %first : tile<1x1xi32> -> tile<1x64xi32>
      %keys = addi %firsts, %columns : tile<1x64xi32>
      %in = cmpi less_than %keys, %ends, signed : tile<1x64xi32> -> tile<1x64xi1>
      %all = broadcast %in : tile<1x64xi1> -> tile<64x64xi1>
      %scores = select %all, %p, %never : tile<64x64xi1>, tile<64x64xf32>
      %e = exp2 %scores : tile<64x64xf32>
      %w = ftof %e : tile<64x64xf32> -> tile<64x64xf16>
      %z, %t3 = load_view_tko weak %cs[%k, %zero] token = %t0
        : partition_view<tile=(64x64), tensor_view<512x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
      %half = mulf %sum, %quarter : tile<64x64xf32>
      %next = mmaf %w, %z, %half : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      continue %next : tile<64x64xf32>
    }
    %t4 = store_view_tko weak %s, %ds[%zero, %zero] token = %t0
      : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}
