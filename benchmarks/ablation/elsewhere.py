"""Kernels compiled by another commit: a child process that imports that commit's packages.

python elsewhere.py < REQUESTS: a JSON list of {kernels, source or name, signature, target, forbid}; a line of JSON for
each, in order. Of what is forbidden, names that the commit does not know are left out: it does not do that either.
"""

from __future__ import annotations

import json
import runpy
import sys
import warnings
from typing import Any


def compiled(request: dict[str, Any]) -> dict[str, Any]:
    """The PTX of a request, and whether an iteration of a loop does two of the source; or why there is none."""
    import tilesat
    from ir.core import TileError
    from lowering.atoms.names import all_names

    forbid = [name for name in request["forbid"] if name in all_names()]
    source, more = request["source"], dict[str, Any](forbid=forbid)
    if not source:
        source, more = runpy.run_path(request["kernels"])[request["name"]], {**more, "signature": request["signature"]}
    try:
        kernel: Any = tilesat.compile(source, request["target"], **more)
    except TileError as error:
        return {"why": str(error).splitlines()[0]}
    pairs = any(each.name == "loop.pairs" and each.taken for each in getattr(kernel.compiled.selection, "loops", ()))
    return {"ptx": kernel.ptx, "pairs": pairs}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for each in json.load(sys.stdin):
        print(json.dumps(compiled(each)), flush=True)
