// RUN: tilesat opt %s --target sm_80 --passes encode,saturate,extract,decode,tileas-materialize-schedule,\
// tileas-lower-pipelines,convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,simplify-by-uses | filecheck %s
// RUN: tilesat opt %s --target sm_80 --passes encode,saturate,extract,decode,tileas-materialize-schedule,\
// tileas-lower-pipelines,convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,simplify-by-uses --pass-statistics 2>&1 \
// | filecheck %s --check-prefix COUNT

// A tile of 64 numbers and a block of 128 threads: those below 64 store, which needs no mask of the thread's number.

// CHECK: [[THREAD:%.*]] = "nvvm.read.ptx.sreg.tid.x"
// CHECK: "llvm.icmp"([[THREAD]], {{.*}}predicate = 6
// CHECK: "tilesat.nvvm.st"
// COUNT: simplify-by-uses {{ +[0-9]+}} operations left out or made shorter

cuda_tile.module @m {
  entry @added(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>) {
    %start = make_token : token
    %vx = make_tensor_view %x, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
    %vy = make_tensor_view %y, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
    %tx = make_partition_view %vx : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>
    %ty = make_partition_view %vy : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>
    %zero = constant <i32: 0> : tile<i32>
    %a, %s = load_view_tko weak %tx[%zero] : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
    %b = addf %a, %a rounding<nearest_even> : tile<64xf32>
    %t = store_view_tko weak %b, %ty[%zero] : tile<64xf32>, partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token
    return
  }
}
