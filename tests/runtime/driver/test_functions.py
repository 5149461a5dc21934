"""The table of calls agrees with the device that answers them, and with NVIDIA's headers where they are installed."""

import inspect
import re

import pytest

from runtime.driver.device import Device
from runtime.driver.functions import Function, functions
from runtime.driver.limits import properties
from runtime.driver.stubs import ALIASES, PARTS, SOURCES
from tests.runtime.cuda_headers import headers

_DECLARATION = re.compile(r"\b(cu[A-Za-z0-9_]+)\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*;", re.S)


@pytest.mark.parametrize("function", functions(), ids=lambda function: function.names[0])
def test_the_device_answers(function: Function) -> None:
    method = getattr(Device, function.names[0])
    given = [name for name in inspect.signature(method).parameters if name != "self"]
    assert len(given) == sum(parameter.how in ("sent", "text", "in") for parameter in function.parameters)


def test_as_many_parameters_as_in_the_headers() -> None:
    folder = headers()
    if folder is None:
        pytest.skip("needs cuda.h: of the CUDA toolkit, of nvidia-cuda-runtime, or of Triton")
    counts: dict[str, set[int]] = {}
    for header in ("cuda.h", "cuda_runtime_api.h"):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", (folder / header).read_text(), flags=re.S)
        text = re.sub(r"__dv\([^()]*\)|#[^\n]*", "", text)
        for name, parameters in _DECLARATION.findall(text):
            stripped = parameters.strip()
            counts.setdefault(name, set()).add(0 if stripped in ("", "void") else stripped.count(",") + 1)
    ours = {name: len(function.parameters) for function in functions() for name in function.names}
    for part in PARTS:
        for name, parameters in re.findall(
            r"^EXPORT [\w *]*?\b(cu\w+)\((.*?)\) \{", (SOURCES / part).read_text(), re.M | re.S
        ):
            plain = re.sub(r"\(\*\w+\)\([^()]*\)", "f", parameters)
            ours[name] = 0 if plain in ("", "void") else plain.count(",") + 1
    compared = 0
    for name, count in ours.items():
        known = {n for each in (name, name.removesuffix("_v2")) for n in counts.get(each, ())}
        if known and (SOURCES / "runtime.c").read_text().find(f" {name}()") < 0:
            assert count in known, f"{name} has {count} parameters, the header {known}"
            compared += 1
    assert compared > 150


def test_every_alias_is_of_a_function_that_exists() -> None:
    text = "".join((SOURCES / part).read_text() for part in PARTS)
    for name in ALIASES:
        assert re.search(rf"^EXPORT \w+ {name}\(", text, re.M), name


def test_properties_have_the_size_of_the_struct() -> None:
    """cudaDeviceProp of CUDA 12.9 and 13.0 by sizeof; compute capability and clusterLaunch where offsetof says."""
    for version, size, cluster in ((12, 1032, None), (13, 1008, 748)):
        data = properties((9, 0), 8, version)
        assert len(data) == size
        assert data[360:368] == bytes([9, 0, 0, 0, 0, 0, 0, 0])
        assert cluster is None or data[cluster] == 1
