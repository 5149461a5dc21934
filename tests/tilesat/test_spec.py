"""SPECs make the data they say, and say what is wrong with those they cannot read."""

import io
import random
import warnings
from contextlib import suppress
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tilesat.spec import NPY, SpecError, parse


def test_normal_array_has_type_shape_and_spread() -> None:
    made = parse("f16[512,256]=normal:7").make()
    assert made.dtype == np.float16
    assert made.shape == (512, 256)
    assert abs(float(made.astype(np.float64).std()) - 1) < 0.01
    assert np.array_equal(made, parse("f16[512,256]=normal:7").make())
    assert not np.array_equal(made, parse("f16[512,256]=normal:8").make())


def test_seeds_not_given_differ_by_position() -> None:
    first, second = (parse("f32[64]=normal", position).make() for position in (0, 1))
    assert not np.array_equal(first, second)


def test_contents() -> None:
    assert not parse("f32[3,5]=zeros").make().any()
    assert parse("bf16[4]=ones").make().dtype == ml_dtypes.bfloat16
    assert parse("i32[2,3]=arange").make().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert parse("f32[2]=full:-2.5").make().tolist() == [-2.5, -2.5]
    ints = parse("f16[4096]=ints:3").make()
    assert sorted(set(ints.tolist())) == list(range(-8, 9))
    uniform = parse("f32[4096]=uniform:3").make()
    assert -1 <= uniform.min() < -0.9 < 0.9 < uniform.max() < 1


def test_scalars() -> None:
    assert parse("i32=512").make() == np.int32(512)
    assert parse("i32=0xffffffff").make() == np.int32(-1)
    assert parse("i64=-3").make().dtype == np.int64
    assert parse("f32=0.1").make() == np.float32(0.1)
    assert parse("i1=1").make() == np.True_


def test_file(tmp_path: Path) -> None:
    data = np.random.default_rng(5).standard_normal((3, 4)).astype(np.float32)
    np.save(tmp_path / "a.npy", data)
    assert np.array_equal(parse(f"@{tmp_path / 'a.npy'}").make(), data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("512", "cannot parse argument"),
        ("f17[4]=zeros", "unknown element type 'f17'"),
        ("f32[4]=gauss", "unknown contents 'gauss'; known: zeros"),
        ("f32[4,x]=zeros", "whole numbers"),
        ("f32[99999999999]=zeros", "GiB"),
        ("f32[4]=normal:seed", "seed must be a number"),
        ("i32=many", "'many' is not a number"),
        ("i32=99999999999", "does not fit in 32 bits"),
        ("f32[4]=full:x", "could not convert"),
        ("f32[4]=full", "full needs a number, as in full:2.5"),
        ("f32[4]=zeros:1", "zeros takes nothing after the colon"),
        ("@no/such.npy", "No such file"),
        ("@/dev/null", "expected one array in NumPy's .npy format"),
        ("i1=5", "i1=5: expected 0 or 1, got 5"),
        ("f16=1e9", "f16=1e9: the numbers do not fit in float16"),
        ("i32[4]=full:nan", "the numbers do not fit in int32"),
        ("i8[4]=full:300", "the numbers do not fit in int8"),
        (f"i32={'9' * 5000}", "an argument has 5004 characters, expected at most 4096"),
        (f"f32[{'9' * 4000}]=zeros", "more than 4 GiB"),
    ],
)
def test_bad_spec_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse(text).make()


def damaged(data: bytes, chance: random.Random) -> bytes:
    """One to three bytes of a file set, left out or put in, or its end cut off."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at, kind = chance.randrange(6, len(made)), chance.random()
        if kind < 0.5:
            made[at] = chance.randrange(256)
        elif kind < 0.7:
            del made[at : at + chance.randint(1, 9)]
        elif kind < 0.9:
            made[at:at] = bytes(chance.choices(b"({[,0'9x-\\", k=3))
        else:
            del made[max(at, 20) :]
    return bytes(made)


def test_damaged_files_are_one_message(tmp_path: Path) -> None:
    whole, archive, path = io.BytesIO(), io.BytesIO(), tmp_path / "a.npy"
    np.save(whole, np.ones((3, 4), np.float32))
    np.savez(archive, a=np.ones(3))
    chance = random.Random(3)
    for data in (b"", b"\n", NPY, whole.getvalue()[:9], archive.getvalue()):
        path.write_bytes(data)
        with pytest.raises(SpecError, match=rf"^@{path}: [^\n]*$"):
            parse(f"@{path}").make()
    for _ in range(500):
        path.write_bytes(damaged(whole.getvalue(), chance))
        with suppress(SpecError), warnings.catch_warnings(action="ignore"):
            parse(f"@{path}").make()
