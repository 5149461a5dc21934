// RUN: tilesat opt %s --entry added --target sm_80 --passes encode,saturate,extract,decode,tileas-materialize-schedule,\
// tileas-lower-pipelines,convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,simplify-by-uses | filecheck %s
// RUN: tilesat opt %s --entry added --target sm_80 --passes encode,saturate,extract,decode,tileas-materialize-schedule,\
// tileas-lower-pipelines,convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,simplify-by-uses --pass-statistics 2>&1 \
// | filecheck %s --check-prefix COUNT
// RUN: tilesat opt %s --entry bytes --target sm_80 --passes encode,saturate,extract,decode,tileas-materialize-schedule,\
// tileas-lower-pipelines,convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,simplify-by-uses \
// | filecheck %s --check-prefix BYTES

// A tile of 64 numbers and a block of 128 threads: those below 64 store, which needs no mask of the thread's number.

// CHECK: [[THREAD:%.*]] = "nvvm.read.ptx.sreg.tid.x"
// CHECK: "llvm.icmp"([[THREAD]], {{.*}}predicate = 6
// CHECK: "tilesat.nvvm.st"

// Numbers of 64 bits that are stored as their bytes: both halves, and no byte is moved.

// CHECK-NOT: "llvm.or"
// CHECK: [[HALVES:%.*]]:2 = "tilesat.nvvm.mov.unpack"
// CHECK-NOT: "llvm.or"
// CHECK: "llvm.bitcast"([[HALVES]]#0)
// CHECK: "llvm.bitcast"([[HALVES]]#1)
// CHECK: "tilesat.nvvm.st"
// COUNT: simplify-by-uses {{ +[0-9]+}} operations removed or narrowed

// The second byte of two words, as i8, in one word: both are taken by one PRMT, and zeros put above them by another.

// BYTES: [[Y:%.*]] = "tilesat.nvvm.ld"
// BYTES: [[X:%.*]] = "tilesat.nvvm.ld"
// BYTES-NEXT: [[BOTH:%.*]] = "nvvm.prmt"([[X]], [[Y]],
// BYTES-NEXT: [[WORD:%.*]] = "nvvm.prmt"({{%.*}}, [[BOTH]],
// BYTES-NEXT: "tilesat.nvvm.st"({{%.*}}, [[WORD]])

cuda_tile.module @m {
  entry @added(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %p: tile<ptr<i64>>, %q: tile<ptr<i8>>) {
    %start = make_token : token
    %vx = make_tensor_view %x, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
    %vy = make_tensor_view %y, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
    %tx = make_partition_view %vx : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>
    %ty = make_partition_view %vy : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>
    %zero = constant <i32: 0> : tile<i32>
    %a, %s = load_view_tko weak %tx[%zero] : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
    %b = addf %a, %a rounding<nearest_even> : tile<64xf32>
    %t = store_view_tko weak %b, %ty[%zero] : tile<64xf32>, partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token
    %pa = assume div_by<16>, %p : tile<ptr<i64>>
    %qa = assume div_by<16>, %q : tile<ptr<i8>>
    %vp = make_tensor_view %pa, shape = [256], strides = [1] : tensor_view<256xi64, strides=[1]>
    %vq = make_tensor_view %qa, shape = [2048], strides = [1] : tensor_view<2048xi8, strides=[1]>
    %tp = make_partition_view %vp : partition_view<tile=(256), tensor_view<256xi64, strides=[1]>>
    %tq = make_partition_view %vq : partition_view<tile=(2048), tensor_view<2048xi8, strides=[1]>>
    %n, %u = load_view_tko weak %tp[%zero] : partition_view<tile=(256), tensor_view<256xi64, strides=[1]>>, tile<i32> -> tile<256xi64>, token
    %m = pack %n : tile<256xi64> -> tile<2048xi8>
    %v = store_view_tko weak %m, %tq[%zero] : tile<2048xi8>, partition_view<tile=(2048), tensor_view<2048xi8, strides=[1]>>, tile<i32> -> token
    return
  }

  entry @bytes(%x: tile<ptr<i32>>, %y: tile<ptr<i32>>) {
    %start = make_token : token
    %vx = make_tensor_view %x, shape = [128], strides = [1] : tensor_view<128xi32, strides=[1]>
    %vy = make_tensor_view %y, shape = [128], strides = [1] : tensor_view<128xi32, strides=[1]>
    %tx = make_partition_view %vx : partition_view<tile=(128), tensor_view<128xi32, strides=[1]>>
    %ty = make_partition_view %vy : partition_view<tile=(128), tensor_view<128xi32, strides=[1]>>
    %zero = constant <i32: 0> : tile<i32>
    %eight = constant <i32: 8> : tile<128xi32>
    %a, %s = load_view_tko weak %tx[%zero] : partition_view<tile=(128), tensor_view<128xi32, strides=[1]>>, tile<i32> -> tile<128xi32>, token
    %b, %t = load_view_tko weak %ty[%zero] : partition_view<tile=(128), tensor_view<128xi32, strides=[1]>>, tile<i32> -> tile<128xi32>, token
    %ah = shri %a, %eight unsigned : tile<128xi32>
    %bh = shri %b, %eight unsigned : tile<128xi32>
    %a8 = trunci %ah : tile<128xi32> -> tile<128xi8>
    %b8 = trunci %bh : tile<128xi32> -> tile<128xi8>
    %low = exti %a8 unsigned : tile<128xi8> -> tile<128xi32>
    %wide = exti %b8 unsigned : tile<128xi8> -> tile<128xi32>
    %high = shli %wide, %eight : tile<128xi32>
    %c = ori %low, %high : tile<128xi32>
    %u = store_view_tko weak %c, %ty[%zero] token = %t : tile<128xi32>, partition_view<tile=(128), tensor_view<128xi32, strides=[1]>>, tile<i32> -> token
    return
  }
}
