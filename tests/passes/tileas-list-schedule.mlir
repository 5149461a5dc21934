// RUN: tilesat opt %s --target sm_90a --passes \
// encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,tileas-list-schedule \
// | filecheck %s
// RUN: tilesat opt %s --target sm_90a --passes \
// encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,tileas-list-schedule \
// --pass-statistics 2>&1 | filecheck %s --check-prefix COUNT

// The weights do not need the sum: they are loaded before its barrier, with their view, and not where they are read.

// CHECK: "nv_tileas.tiled_load"{{.*}}<{bytes = 16
// CHECK: [[WEIGHTS:%.*]] = "nv_tileas.tiled_load"{{.*}}ahead = true
// CHECK: "nv_tileas.reduce"
// CHECK-NOT: "nv_tileas.tiled_load"
// CHECK: "arith.mulf"({{.*}}[[WEIGHTS]])
// COUNT-DAG: 1 loads issued before barriers or waits

cuda_tile.module @m {
  entry @centred(%x: tile<ptr<f32>>, %w: tile<ptr<f32>>, %y: tile<ptr<f32>>) {
    %t0 = make_token : token
    %xp = assume div_by<16>, %x : tile<ptr<f32>>
    %wp = assume div_by<16>, %w : tile<ptr<f32>>
    %yp = assume div_by<16>, %y : tile<ptr<f32>>
    %zero = constant <i32: 0> : tile<i32>
    %share = constant <f32: 0.0009765625> : tile<f32>
    %xv = make_tensor_view %xp, shape = [1024], strides = [1] : tensor_view<1024xf32, strides=[1]>
    %wv = make_tensor_view %wp, shape = [1024], strides = [1] : tensor_view<1024xf32, strides=[1]>
    %yv = make_tensor_view %yp, shape = [1024], strides = [1] : tensor_view<1024xf32, strides=[1]>
    %xs = make_partition_view %xv : partition_view<tile=(1024), tensor_view<1024xf32, strides=[1]>>
    %ws = make_partition_view %wv : partition_view<tile=(1024), tensor_view<1024xf32, strides=[1]>>
    %ys = make_partition_view %yv : partition_view<tile=(1024), tensor_view<1024xf32, strides=[1]>>
    %row, %t1 = load_view_tko weak %xs[%zero] token = %t0
      : partition_view<tile=(1024), tensor_view<1024xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
    %sum = reduce %row dim=0 identities=[0.0 : f32] : tile<1024xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      %c = addf %a, %b : tile<f32>
      yield %c : tile<f32>
    }
    %mean = mulf %sum, %share : tile<f32>
    %mean1 = reshape %mean : tile<f32> -> tile<1xf32>
    %means = broadcast %mean1 : tile<1xf32> -> tile<1024xf32>
    %centred = subf %row, %means : tile<1024xf32>
    %weights, %t2 = load_view_tko weak %ws[%zero] token = %t0
      : partition_view<tile=(1024), tensor_view<1024xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
    %scaled = mulf %centred, %weights : tile<1024xf32>
    %t3 = store_view_tko weak %scaled, %ys[%zero] token = %t0
      : tile<1024xf32>, partition_view<tile=(1024), tensor_view<1024xf32, strides=[1]>>, tile<i32> -> token
    return
  }
}
