// RUN: tilesat opt %s --target sm_90a --passes encode,saturate,extract,decode,tileas-rotate-loops | filecheck %s
// RUN: tilesat opt %s --target sm_90a --passes encode,saturate,extract,decode,tileas-rotate-loops --pass-statistics 2>&1 \
// | filecheck %s --check-prefix COUNT

// The first product of the loop is made once before it and then for the next iteration: its sum is carried.

// CHECK: [[FIRST:%.*]] = "nv_tileas.dot"({{.*}}atom = "wgmma
// CHECK: "scf.for"({{.*}}, [[FIRST]])
// CHECK: {{\^bb.*}}: i32, {{.*}}, [[NOW:%.*]]: tensor<64x64xf32
// CHECK: [[STEP:%.*]] = "arith.addi"
// CHECK: "nv_tileas.tiled_copy"({{%.*}}, {{%.*}}, [[STEP]])
// CHECK: [[NEXT:%.*]] = "nv_tileas.dot"
// CHECK: "math.exp2"([[NOW]])
// CHECK: "scf.yield"({{%.*}}, [[NEXT]])
// CHECK-NOT: early
// COUNT-DAG: 1 loops rotated

cuda_tile.module @m {
  entry @sums(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f16>>, %d: tile<ptr<f32>>, %n: tile<i32>) {
    %t0 = make_token : token
    %ap = assume div_by<16>, %a : tile<ptr<f16>>
    %bp = assume div_by<16>, %b : tile<ptr<f16>>
    %cp = assume div_by<16>, %c : tile<ptr<f16>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %none = constant <f32: 0.0> : tile<64x64xf32>
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
      %e = exp2 %p : tile<64x64xf32>
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
