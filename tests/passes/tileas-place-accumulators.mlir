// RUN: tilesat opt %s --entry product --target sm_100a --passes encode,saturate,extract,decode,tileas-place-accumulators | filecheck %s
// RUN: tilesat opt %s --entry product --target sm_100a --passes encode,saturate,extract,decode,tileas-place-accumulators --pass-statistics 2>&1 \
// | filecheck %s --check-prefix COUNT

// The loop carries no sum: it lies in tensor memory, the first product does not add, and the tile is loaded behind the
// loop, zeros where it has not run.

// CHECK: [[D:%.*]] = "nv_tileas.alloc_tensor_memory"{{.*}} -> !nv_tileas.tmem<128x64xf32>
// CHECK-NEXT: "scf.for"([[FIRST:%.*]], [[END:%.*]], {{%.*}}) ({
// CHECK-NEXT: ^bb0([[K:%.*]]: i32):
// CHECK: [[ADDS:%.*]] = "arith.cmpi"([[K]], [[FIRST]]) <{predicate = 1 : i64}>
// CHECK-NEXT: "nv_tileas.tensor_dot"({{%.*}}, {{%.*}}, [[D]], [[ADDS]]) <{atom = "tcgen05.m128n64k16.f16.f16",
// CHECK-NEXT: "scf.yield"()
// CHECK: "nv_tileas.tensor_commit"([[D]])
// CHECK-NEXT: [[RAN:%.*]] = "arith.cmpi"([[FIRST]], [[END]]) <{predicate = 2 : i64}>
// CHECK-NEXT: [[SUM:%.*]] = "nv_tileas.tensor_load"([[D]], [[RAN]])
// CHECK-NOT: "nv_tileas.dot"
// COUNT-DAG: 1 products placed in tensor memory

// A product without a loop is read where its result is, and added there to what it adds to.

// RUN: tilesat opt %s --entry alone --target sm_100a --passes encode,saturate,extract,decode,tileas-place-accumulators \
// | filecheck %s --check-prefix ALONE

// ALONE: [[D:%.*]] = "nv_tileas.alloc_tensor_memory"{{.*}} -> !nv_tileas.tmem<128x64xf32>
// ALONE: "nv_tileas.tensor_dot"({{%.*}}, {{%.*}}, [[D]]) <{atom = "tcgen05.m128n64k16.f16.f16",
// ALONE-NEXT: "nv_tileas.tensor_commit"([[D]])
// ALONE: "nv_tileas.tensor_load"([[D]], {{%.*}})
// ALONE-NOT: "nv_tileas.dot"

cuda_tile.module @m {
  entry @product(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %d: tile<ptr<f32>>, %n: tile<i32>) {
    %t0 = make_token : token
    %ap = assume div_by<16>, %a : tile<ptr<f16>>
    %bp = assume div_by<16>, %b : tile<ptr<f16>>
    %dp = assume div_by<16>, %d : tile<ptr<f32>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %none = constant <f32: 0.0> : tile<128x64xf32>
    %av = make_tensor_view %ap, shape = [128, 4096], strides = [4096, 1] : tensor_view<128x4096xf16, strides=[4096,1]>
    %bv = make_tensor_view %bp, shape = [4096, 64], strides = [64, 1] : tensor_view<4096x64xf16, strides=[64,1]>
    %dv = make_tensor_view %dp, shape = [128, 64], strides = [64, 1] : tensor_view<128x64xf32, strides=[64,1]>
    %as = make_partition_view %av : partition_view<tile=(128x64), tensor_view<128x4096xf16, strides=[4096,1]>>
    %bs = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>
    %ds = make_partition_view %dv : partition_view<tile=(128x64), tensor_view<128x64xf32, strides=[64,1]>>
    %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<128x64xf32>) {
      %x, %t1 = load_view_tko weak %as[%zero, %k] token = %t0 : partition_view<tile=(128x64), tensor_view<128x4096xf16, strides=[4096,1]>>, tile<i32> -> tile<128x64xf16>, token
      %y, %t2 = load_view_tko weak %bs[%k, %zero] token = %t0 : partition_view<tile=(64x64), tensor_view<4096x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
      %next = mmaf %x, %y, %acc : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
      continue %next : tile<128x64xf32>
    }
    %t3 = store_view_tko weak %sum, %ds[%zero, %zero] token = %t0 : tile<128x64xf32>, partition_view<tile=(128x64), tensor_view<128x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }

  entry @alone(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %d: tile<ptr<f32>>) {
    %t0 = make_token : token
    %ap = assume div_by<16>, %a : tile<ptr<f16>>
    %bp = assume div_by<16>, %b : tile<ptr<f16>>
    %dp = assume div_by<16>, %d : tile<ptr<f32>>
    %zero = constant <i32: 0> : tile<i32>
    %ones = constant <f32: 1.0> : tile<128x64xf32>
    %av = make_tensor_view %ap, shape = [128, 256], strides = [256, 1] : tensor_view<128x256xf16, strides=[256,1]>
    %bv = make_tensor_view %bp, shape = [256, 64], strides = [64, 1] : tensor_view<256x64xf16, strides=[64,1]>
    %dv = make_tensor_view %dp, shape = [128, 64], strides = [64, 1] : tensor_view<128x64xf32, strides=[64,1]>
    %as = make_partition_view %av : partition_view<tile=(128x256), tensor_view<128x256xf16, strides=[256,1]>>
    %bs = make_partition_view %bv : partition_view<tile=(256x64), tensor_view<256x64xf16, strides=[64,1]>>
    %ds = make_partition_view %dv : partition_view<tile=(128x64), tensor_view<128x64xf32, strides=[64,1]>>
    %x, %t1 = load_view_tko weak %as[%zero, %zero] token = %t0 : partition_view<tile=(128x256), tensor_view<128x256xf16, strides=[256,1]>>, tile<i32> -> tile<128x256xf16>, token
    %y, %t2 = load_view_tko weak %bs[%zero, %zero] token = %t0 : partition_view<tile=(256x64), tensor_view<256x64xf16, strides=[64,1]>>, tile<i32> -> tile<256x64xf16>, token
    %sum = mmaf %x, %y, %ones : tile<128x256xf16>, tile<256x64xf16>, tile<128x64xf32>
    %t3 = store_view_tko weak %sum, %ds[%zero, %zero] token = %t0 : tile<128x64xf32>, partition_view<tile=(128x64), tensor_view<128x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}
