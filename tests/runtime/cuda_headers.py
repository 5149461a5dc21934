"""Where cuda.h is on this machine."""

from __future__ import annotations

import shutil
from importlib import metadata
from pathlib import Path


def headers() -> Path | None:
    """The folder of cuda.h and cuda_runtime_api.h: of nvcc, or of a package that brings them."""
    if (nvcc := shutil.which("nvcc")) is not None:
        for folder in (Path(nvcc).resolve().parents[1] / "include", Path("/usr/local/cuda/include")):
            if (folder / "cuda.h").exists() and (folder / "cuda_runtime_api.h").exists():
                return folder
    for package in ("nvidia-cuda-runtime", "triton"):
        try:
            files = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name == "cuda.h":
                return Path(str(file.locate())).parent
    return None
