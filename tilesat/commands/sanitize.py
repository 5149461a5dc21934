"""`tilesat sanitize PROGRAM [ARGS]`: a CUDA program or script on the simulator, with hazard tracking."""

from __future__ import annotations

import argparse
import re
import sys

from ptxsim import LaunchError
from ptxsim.findings import REPORT, Findings
from runtime.driver.answers import Options
from runtime.driver.program import run_program
from tilesat.cli import FAILED
from tilesat.output import write_file

MOST_PRINTED = 100
"""Places printed on standard error: a kernel of CUTLASS has hundreds where one wait is missing."""


def run(arguments: argparse.Namespace) -> int:
    """Print the report on standard error; 1 where something was found or refused, else the program's own status."""
    Findings(REPORT, arguments.suppress)  # an unknown kind is reported before the program starts
    if not re.fullmatch(r"together|skewed:[0-9]+", arguments.schedule):
        raise LaunchError(f"--schedule {arguments.schedule!r}: expected together or skewed:SEED with a whole number")
    options = Options(
        _capability(arguments.target),
        arguments.multiprocessors,
        arguments.hazards,
        tuple(arguments.suppress),
        arguments.schedule,
        arguments.max_instructions,
    )
    status, summary = run_program([arguments.program, *arguments.rest], options, arguments.build)
    if arguments.report is not None:
        write_file(arguments.report, summary.text())
    else:
        print(summary.text(MOST_PRINTED), end="", file=sys.stderr)
    return status if summary.is_clean else FAILED


def _capability(target: str | None) -> tuple[int, int] | None:
    if target is None:
        return None
    match = re.fullmatch(r"sm_(\d+)(\d)[af]?", target)
    if match is None:
        raise LaunchError(f"--target {target!r}: expected an architecture such as sm_90")
    return int(match[1]), int(match[2])
