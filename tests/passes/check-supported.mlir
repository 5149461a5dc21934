// RUN: not tilesat opt %s --passes check-supported 2>&1 | filecheck %s
// RUN: tilesat opt %s --target sm_89 --passes check-supported,encode | filecheck %s --check-prefix FITS

// sm_80 has no conversions of 8-bit floats. The place is that of the operation.

// CHECK: check-supported.mlir:{{[0-9]+}}:10: error: 'cuda_tile.ftof': sm_80 has no conversions of f8E4M3FN
// CHECK: hint: compile for sm_89 or later
// FITS: (r.ftof 

cuda_tile.module @m {
  entry @widen(%x: tile<ptr<f8E4M3FN>>, %y: tile<ptr<f32>>) {
    %v, %t = load_ptr_tko weak %x : tile<ptr<f8E4M3FN>> -> tile<f8E4M3FN>, token
    %w = ftof %v : tile<f8E4M3FN> -> tile<f32>
    %u = store_ptr_tko weak %y, %w : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
