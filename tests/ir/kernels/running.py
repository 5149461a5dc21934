"""From a case to bytecode, to the arguments of the entry, and from what it left to a verdict."""

import math
from io import BytesIO

import numpy as np


def export(each, version):
    """Tile IR bytecode of a case's kernel, and its arguments as cuTile passes them."""
    import cuda.tile as ct
    from cuda.tile.compilation import (
        ArrayConstraint,
        CallingConvention,
        KernelSignature,
        ListConstraint,
        ScalarConstraint,
        export_kernel,
    )

    names = {"bool": "bool_", "float8_e4m3fn": "float8_e4m3fn"}

    def of_array(value):
        kind = getattr(ct, names.get(value.dtype.name, value.dtype.name))
        rank = value.ndim
        return ArrayConstraint(
            kind, rank, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
            stride_constant=(None,) * (rank - 1) + (1,), base_addr_divisible_by=16,
        )  # fmt: skip

    def of(value):
        if isinstance(value, list):
            return ListConstraint(of_array(value[0]), alias_groups=(), elements_may_alias=False)
        if isinstance(value, np.ndarray):
            return of_array(value)
        return ScalarConstraint(ct.float32 if isinstance(value, float) else ct.int32)

    values = each.values(np.random.default_rng(12))
    signature = KernelSignature([of(v) for v in values], CallingConvention.cutile_python_v1(), symbol="k")
    output = BytesIO()
    export_kernel(
        each.kernel, [signature], output, gpu_code="sm_100", output_format="tileir_bytecode",
        bytecode_version=f"{version[0]}.{version[1]}",
    )  # fmt: skip
    return output.getvalue(), values


def flattened(values):
    """Arguments of the entry: an array as pointer, sizes and strides in elements, a list as its table and length."""
    found = []
    for value in values:
        if isinstance(value, np.ndarray):
            found += [value, *value.shape, *(s // value.itemsize for s in value.strides)]
        elif isinstance(value, list):
            found += [[item for each in value for item in flattened([each])], len(value)]
        else:
            found.append(value)
    return found


def near(found, wanted, tolerance):
    """Equal to the bit, or within `tolerance` of the larger of one and the size of what is wanted."""
    if not tolerance:
        np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted).astype(found.dtype))
        return
    a, b = found.astype(np.float64), np.asarray(wanted).astype(np.float64)
    assert np.isfinite(b).all()
    assert math.isfinite(float(a.sum()))
    np.testing.assert_array_less(np.abs(a - b) / np.maximum(np.abs(b), 1), tolerance)
