"""The command line: `tilesat compile | explore | opt | run | check | cat | sanitize | experiment | mca | ...`.

Exit codes: 0 success, 1 the program cannot be compiled or gave a wrong result (a located message on standard error),
2 usage. This module only reads arguments; each command lives in `tilesat.commands` and is loaded when it runs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

from tilesat.arguments import EXTRACTORS, count, ctas, extractor, focus, grid, percent
from tilesat.failures import describe, is_usage, user_errors
from tilesat.one_shot_process import one_shot_process

OK, FAILED, USAGE = 0, 1, 2
INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""

STAGES = (
    "cuda_tile", "nv_tileaa", "egraph", "egraph-json", "egglog", "nv_tileas", "nvgpu", "nvvm", "llvm", "ptx", "sass",
)  # fmt: skip
READ = ("cuda_tile", "nv_tileaa", "nv_tileas", "nvgpu", "nvvm")
"""Levels that `compile`, `opt` and `run` take up from a file."""
BACKENDS = ("sim", "ref", "cuda")
DEFAULT_TARGET = "sm_80"
TRANSLATING = ("compile", "explore", "opt", "check", "cat")
"""Commands that read and write programs and run none."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; argparse itself exits with 2 on a usage error."""
    words = sys.argv[1:] if argv is None else argv
    # argparse would take the FILE that follows a bare --hazards for its value
    arguments = _parser().parse_args(["--hazards=stop" if word == "--hazards" else word for word in words])
    try:
        return _run_command(arguments, ending=argv is None)
    except BrokenPipeError:  # `tilesat compile x | head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the flush at exit fails once more
        return OK
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def _run_command(arguments: argparse.Namespace, ending: bool) -> int:
    with one_shot_process(ending) if arguments.command in TRANSLATING else nullcontext():
        command: Callable[[argparse.Namespace], int] = import_module(f"tilesat.commands.{arguments.command}").run
        try:
            code = command(arguments)
            sys.stdout.flush()
        except BrokenPipeError:  # an OSError, but not one to tell of
            raise
        except user_errors() as error:  # evaluated only when something was raised
            print(describe(error), file=sys.stderr)
            return USAGE if is_usage(error) else FAILED
    return code


class _Version(argparse.Action):
    """Print the version; what knows it is loaded by those who ask."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"tilesat {version('tilesat')}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tilesat", description="Compile GPU tile programs (CUDA Tile IR) to PTX by equality saturation."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version of this package")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, prog="tilesat")
    _add_compile(
        commands.add_parser("compile", help="compile Tile IR text or bytecode to PTX, or to any earlier stage")
    )
    _add_explore(
        commands.add_parser("explore", help="write one HTML page that shows a compilation from source to SASS")
    )
    _add_opt(commands.add_parser("opt", help="run passes, by name, on a program of any level"))
    _add_run(commands.add_parser("run", help="compile and run a kernel on the simulator, or interpret it"))
    check = commands.add_parser("check", help="parse and verify only")
    check.add_argument("file", type=Path, nargs="?", default=Path("-"), metavar="FILE",
                       help="Tile IR text or bytecode; - (the default) is standard input")  # fmt: skip
    check.add_argument("--hints", choices=("silent", "warn", "error"), default="warn", metavar="HOW",
                       help="invalid optimization hints: silent, warn (the default) or error")  # fmt: skip
    check.set_defaults(command="check")
    _add_cat(commands.add_parser("cat", help="convert between Tile IR text, generic text and bytecode"))
    _add_sanitize(
        commands.add_parser("sanitize", help="run a CUDA program or script on the simulator and report hazards")
    )
    why = commands.add_parser("why", help="explain step by step which rules make two terms equal")
    why.add_argument("file", type=Path, metavar="FILE", help="Tile IR text or bytecode")
    why.add_argument("left", metavar="A", help="a value (%%acc), a node of --emit egraph (c12.0), or a term")
    why.add_argument("right", metavar="B")
    why.add_argument("--target", metavar="T", help=f"default {DEFAULT_TARGET}")
    _add_pipeline_options(why)
    why.set_defaults(command="why")
    _add_experiment(commands.add_parser("experiment", help="tabulate kernels x targets x configurations"))
    _add_mca(commands.add_parser("mca", help="predict the cycles and pipe pressure of the loops of a cubin or PTX"))
    _add_bench_record(
        commands.add_parser("bench-record", help="record cost, instructions and registers of a folder's kernels")
    )
    _add_bench_diff(commands.add_parser("bench-diff", help="compare two recorded runs; exit 1 if any kernel is worse"))
    _add_fuzz(commands.add_parser("fuzz", help="test random programs on every target; reduce failures to tests"))
    passes = commands.add_parser("passes", help="list the passes of the compiler")
    passes.add_argument("--markdown", action="store_true", help="print Markdown tables, as in docs/passes.md")
    passes.set_defaults(command="passes")
    kept = commands.add_parser("cache", help="show or clear the cache of kernels compiled by tilesat.jit")
    kept.set_defaults(command="cache")
    kept.add_argument("--clear", action="store_true", help="remove every cached kernel")
    targets = commands.add_parser("targets", help="list the targets and their features")
    targets.set_defaults(command="targets")
    doctor = commands.add_parser("doctor", help="report which tools are installed and what needs the missing ones")
    doctor.set_defaults(command="doctor")
    demo = commands.add_parser("demo", help="compile a GEMM from Tile IR to PTX, run it on the simulator and check it")
    demo.add_argument("--output", type=Path, default=Path("out/demo"), metavar="DIR", help="folder for the PTX")
    demo.set_defaults(command="demo")
    return parser


def _add_cat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, nargs="?", default=Path("-"), metavar="FILE", help="- (the default) is standard input"
    )
    parser.add_argument(
        "--as",
        dest="form",
        choices=("text", "generic", "bytecode"),
        default="text",
        metavar="FORM",
        help="text (the default), generic or bytecode",
    )
    parser.add_argument(
        "--bytecode-version",
        choices=("13.1", "13.2", "13.3", "13.4", "13.5"),
        default="13.4",
        metavar="V",
        help="13.1 to 13.5, default %(default)s",
    )
    parser.add_argument("--locations", action="store_true", help="print the location of each operation as loc(...)")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="default: standard output")
    parser.set_defaults(command="cat")


def _add_compile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="Tile IR, - (standard input) or MODULE.py:KERNEL")
    parser.add_argument("--sig", metavar="SPEC", help="parameters of MODULE.py:KERNEL, such as 'f16[?,?]; f32[?]; i32'")
    parser.add_argument("--target", metavar="T[,T...]", help=f"default {DEFAULT_TARGET}; see `tilesat targets`")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        help="default: standard output; a name ending in .cubin or .fatbin is assembled",
    )
    parser.add_argument("--manifest", type=Path, metavar="OUT.json", help="write the launch manifest")
    parser.add_argument("--header", type=Path, metavar="OUT.h", help="write a C header that launches the kernel")
    parser.add_argument("--emit", choices=STAGES, default="ptx", metavar="STAGE", help=f"one of {', '.join(STAGES)}")
    parser.add_argument(
        "--viz", type=Path, metavar="DIR", help="write pictures of what was chosen, and the explorer page"
    )
    parser.add_argument(
        "--viz-focus",
        type=focus,
        action="append",
        default=[],
        metavar="VALUE[:RADIUS]",
        help="draw a value of the source and what is within RADIUS steps (default 1)",
    )
    parser.add_argument(
        "--trace", type=Path, metavar="OUT.json", help="write the schedules of the loops as a Perfetto trace"
    )
    parser.add_argument(
        "--lineinfo", action="store_true", help="emit .loc directives with source locations, for profilers and nvdisasm"
    )
    parser.add_argument(
        "--annotate", action="store_true", help="comment each line of PTX with its operation and source location"
    )
    parser.add_argument(
        "--print-pipeline",
        action="store_true",
        help="print the pass pipeline in the form of `opt --passes`, without running it",
    )
    _add_pipeline_options(parser)
    _add_watching(parser)
    parser.set_defaults(command="compile")


def _add_explore(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, nargs="+", metavar="FILE", help="Tile IR, - (standard input) or MODULE.py:KERNEL"
    )
    parser.add_argument("--sig", metavar="SPEC", help="parameters of MODULE.py:KERNEL, such as 'f16[?,?]; f32[?]; i32'")
    parser.add_argument("--target", metavar="T[,T...]", help=f"default {DEFAULT_TARGET}; several are compared")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("explorer.html"),
        metavar="OUT.html",
        help="default %(default)s; - is standard output",
    )
    _add_pipeline_options(parser)
    parser.set_defaults(command="explore")


def _add_opt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        default=Path("-"),
        metavar="FILE",
        help="a program of any level; - (the default) is standard input",
    )
    parser.add_argument(
        "--passes", default="", metavar="PIPELINE", help="such as a,b{option=1},c; without it: read, verify and print"
    )
    parser.add_argument("--target", metavar="T", help=f"default {DEFAULT_TARGET}, or the target named by the program")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="default: standard output")
    parser.add_argument("--from", dest="level", choices=READ, metavar="LEVEL", help="require FILE to hold this level")
    parser.add_argument("--entry", metavar="NAME", help="the kernel to use if the module holds several")
    parser.add_argument("--verify-each", action="store_true", help="verify the program after each pass")
    parser.add_argument(
        "--time", "--pass-timing", action="store_true", help="print the time of each pass to standard error"
    )
    _add_watching(parser)
    parser.set_defaults(command="opt")


def _add_watching(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--print-before",
        action="append",
        default=[],
        metavar="PASS",
        help="print the program before this pass (or all) to standard error",
    )
    parser.add_argument(
        "--print-after", action="append", default=[], metavar="PASS", help="print the program after this pass (or all)"
    )
    parser.add_argument("--print-diff", action="store_true", help="print diffs instead of whole programs")
    parser.add_argument("--stop-after", metavar="PASS", help="stop after this pass and print its result")
    parser.add_argument(
        "--pass-statistics", action="store_true", help="print the statistics of each pass to standard error"
    )
    parser.add_argument(
        "--reproducer",
        type=Path,
        metavar="OUT",
        help="if a pass fails, write its input and the command to reproduce it",
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="Tile IR text or bytecode")
    parser.add_argument("--target", metavar="T", help=f"default {DEFAULT_TARGET}")
    parser.add_argument(
        "--on", choices=BACKENDS, default="sim", help="run on the simulator, the reference interpreter or a GPU"
    )
    parser.add_argument("--grid", type=grid, required=True, metavar="X[,Y[,Z]]", help="grid in tile blocks")
    parser.add_argument("--arg", action="append", default=[], metavar="SPEC", help="f16[512,256]=normal:7, i32=512 ...")
    parser.add_argument("--check", action="store_true", help="compare with the reference interpreter")
    parser.add_argument(
        "--tolerance", type=float, metavar="X", help="for --check, instead of the default for the element type"
    )
    parser.add_argument(
        "--hazards",
        choices=("stop", "report"),
        metavar="HOW",
        help="detect races and missing waits on the simulator: stop at the first (the "
        "default with --check) or report them all",
    )
    parser.add_argument("--no-hazards", dest="hazards", action="store_const", const="", help="do not detect hazards")
    parser.add_argument(
        "--suppress",
        action="append",
        default=[],
        metavar="KIND[:LINE]",
        help="ignore these hazards, by kind, PTX line or both",
    )
    parser.add_argument(
        "--max-instructions",
        type=count,
        metavar="N",
        help="stop the simulator after N warp instructions; default: no limit",
    )
    parser.add_argument(
        "--workers", type=count, default=1, metavar="N", help="simulate the grid in N processes; default 1"
    )
    parser.add_argument("--save", type=Path, metavar="OUT.npz", help="write all array arguments as arg0, arg1, ...")
    _add_pipeline_options(parser)
    parser.set_defaults(command="run")


def _add_sanitize(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="PROGRAM", help="a program that holds PTX, or a Python script (.py)")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="ARGS", help="its arguments")
    parser.add_argument(
        "--target", metavar="T", help="device; default: the newest target of the embedded PTX, or sm_90"
    )
    parser.add_argument(
        "--multiprocessors",
        type=count,
        default=8,
        metavar="N",
        help="multiprocessors of the device, default %(default)s",
    )
    parser.add_argument(
        "--hazards",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="detect races and missing waits (the default)",
    )
    parser.add_argument(
        "--suppress",
        action="append",
        default=[],
        metavar="KIND[:LINE]",
        help="ignore these hazards, by kind, PTX line or both",
    )
    parser.add_argument(
        "--schedule",
        default="together",
        metavar="S",
        help="together (the default), or skewed:SEED: each warp runs alone until it must wait",
    )
    parser.add_argument(
        "--max-instructions",
        type=count,
        metavar="N",
        help="stop a kernel after N warp instructions; default: no limit",
    )
    parser.add_argument("--report", type=Path, metavar="OUT", help="write the report here; default: standard error")
    parser.add_argument(
        "--build",
        type=Path,
        metavar="DIR",
        help="folder in which to build the library, default ~/.cache/tilesat/driver",
    )
    parser.set_defaults(command="sanitize")


def _add_mca(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a cubin or PTX from any compiler")
    parser.add_argument(
        "--target", metavar="T", help="the target whose tables are used; default: the target of the file"
    )
    parser.add_argument(
        "--warps", type=count, default=1, metavar="N", help="warps that share a scheduler, default %(default)s"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--trace", type=Path, metavar="OUT.json", help="write the schedules of the loops as a Perfetto trace"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="default: standard output")
    parser.set_defaults(command="mca")


def _add_experiment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="Tile IR, or MODULE.py:KERNEL")
    parser.add_argument("--target", metavar="T[,T...]", help=f"default {DEFAULT_TARGET}")
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="NAME=V[;V...]",
        help="values of one option, lists with commas: 'forbid=;ldmatrix;ldmatrix,cp.async'; several "
        "options form a product",
    )
    parser.add_argument(
        "--configurations",
        type=Path,
        action="append",
        default=[],
        metavar="F.json",
        help="a JSON object of options, or a list of such objects",
    )
    parser.add_argument("--entry", metavar="NAME", help="the kernel to use if the module holds several")
    parser.add_argument("--sig", metavar="SPEC", help="parameters of MODULE.py:KERNEL, as for compile")
    parser.add_argument("--check", action="store_true", help="run on the simulator and compare with the interpreter")
    parser.add_argument("--grid", type=grid, metavar="X[,Y[,Z]]", help="grid in tile blocks, for --check")
    parser.add_argument("--arg", action="append", default=[], metavar="SPEC", help="arguments for --check, as for run")
    parser.add_argument(
        "--tolerance", type=float, metavar="X", help="for --check, instead of the default for the element type"
    )
    parser.add_argument("--no-ptxas", action="store_true", help="do not assemble: no registers, spills or SASS loops")
    parser.add_argument("--workers", type=count, default=0, metavar="N", help="run on N local Dask processes")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of a running Dask cluster, such as tcp://host:8786"
    )
    parser.add_argument(
        "--records",
        type=Path,
        metavar="F.jsonl",
        help="append every finished run here; runs found here are not repeated",
    )
    parser.add_argument("--retry", action="store_true", help="repeat the recorded runs that crashed")
    parser.add_argument(
        "--progress", action="store_true", help="show the progress bar even if standard error is not a terminal"
    )
    parser.add_argument(
        "--format",
        choices=("csv", "json", "jsonl", "markdown"),
        metavar="FORM",
        help="csv, json, jsonl or markdown (the default)",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="default: standard output")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="write plots here (needs matplotlib)")
    parser.set_defaults(command="experiment")


def _add_bench_record(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="folder searched recursively for *.mlir, *.tileirbc and *.bc"
    )
    parser.add_argument("--target", metavar="T[,T...]", help=f"default {DEFAULT_TARGET}")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT.json", help="default: standard output")
    parser.add_argument("--without-ptxas", action="store_true", help="do not assemble: count PTX instructions")
    parser.set_defaults(command="bench_record")


def _add_bench_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, metavar="OLD.json")
    parser.add_argument("new", type=Path, metavar="NEW.json")
    parser.add_argument(
        "--threshold",
        type=percent,
        default=2.0,
        metavar="PERCENT",
        help="allowed growth of costs and counts, default %(default)g",
    )
    parser.add_argument(
        "--time-threshold",
        type=percent,
        default=50.0,
        metavar="PERCENT",
        help="allowed growth of compile time, default %(default)g, and 0.1 CPU s",
    )
    parser.set_defaults(command="bench_diff")


def _add_fuzz(parser: argparse.ArgumentParser) -> None:
    how_long = parser.add_mutually_exclusive_group()
    how_long.add_argument("--programs", type=count, metavar="N", help="number of programs; default 100")
    how_long.add_argument("--minutes", type=count, metavar="N", help="generate programs for N minutes")
    parser.add_argument("--targets", metavar="T[,T...]", help="default: seven, from sm_80 to sm_120a")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the first program, default %(default)s"
    )
    parser.add_argument(
        "--kinds",
        metavar="K[,K...]",
        help="generators to use in turn: mixed, generated, ordered, promised; permitted, special (for --fast)",
    )
    parser.add_argument(
        "--fast",
        metavar="NAME[,NAME]",
        default="",
        help="compile with these permissions; results must be within bounds",
    )
    parser.add_argument(
        "--rules", type=Path, action="append", default=[], metavar="F.egg", help="also use these rewrite rules"
    )
    parser.add_argument("--jobs", type=count, default=0, metavar="N", help="worker processes; default: run in this one")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on this Dask cluster (extra lab)")
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="append verdicts here; a later run resumes after the last one"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("fuzz"),
        metavar="DIR",
        help="folder for the tests of failures, default %(default)s",
    )
    parser.add_argument(
        "--no-reduce", dest="reduce", action="store_false", help="report failures without reducing them"
    )
    parser.add_argument("--without-ptxas", action="store_true", help="do not assemble")
    parser.set_defaults(command="fuzz")


def _add_pipeline_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="level", choices=READ, metavar="LEVEL",
                        help=f"require FILE to hold one of {', '.join(READ)}; default: detect it")  # fmt: skip
    parser.add_argument("--entry", metavar="NAME", help="the kernel to use if the module holds several")
    parser.add_argument(
        "--rules", type=Path, action="append", default=[], metavar="F.egg", help="add rewrite rules to the e-graph"
    )
    parser.add_argument("--unchecked", action="store_true", help="do not check the rules of --rules on samples first")
    parser.add_argument(
        "--without", action="append", default=[], metavar="PREFIX", help="leave out rules whose names start with PREFIX"
    )
    parser.add_argument(
        "--forbid", action="append", default=[], metavar="ATOM", help="exclude this atom from the choice"
    )
    parser.add_argument("--fast", action="append", default=[], metavar="[ENTRY=]NAME[,NAME]",
                        help="allow inexact rewrites, in all entries or in one: nsz, contract, reassoc, "
                             "arcp, afn, ftz, nnan, ninf, uscale, triton")  # fmt: skip
    parser.add_argument(
        "--persistent",
        default="off",
        metavar="static|atomic|dynamic|auto",
        help="launch only as many CTAs as fit on the device and loop over the tile blocks; auto: if that costs less",
    )
    parser.add_argument("--consumers", default="auto", metavar="cooperative|ping-pong|auto",
                        help="consumer warpgroups share one tile of a persistent loop, or take successive tiles in "
                             "turn; auto (the default): whichever is faster")  # fmt: skip
    parser.add_argument(
        "--ocg-knobs", action="store_true", help="emit scheduling pragmas for ptxas (not recognised by ptxas 13.5)"
    )
    parser.add_argument(
        "--num-ctas",
        type=ctas,
        default=0,
        metavar="N",
        help="split each tile block over N CTAs of a cluster (or as 1x2); auto: the cheapest split; "
        "default: from the optimization hints",
    )
    parser.add_argument(
        "--tile-blocks",
        type=count,
        default=0,
        metavar="N",
        help="expected tile blocks of a launch, for --num-ctas auto and --persistent auto; default: "
        "more than fit on the device at once",
    )
    parser.add_argument(
        "--extractor",
        type=extractor,
        default="auto",
        metavar="METHOD",
        help=f"{', '.join(EXTRACTORS)}, or top:N, the Nth cheapest program (default %(default)s)",
    )
    parser.add_argument(
        "--extract-budget",
        type=count,
        metavar="N",
        help="work limit of the search for the cheapest program, default 10000 units",
    )
    parser.add_argument(
        "--saturate-budget", type=count, metavar="N", help="limit on matches of rewrite rules, default 200000"
    )
    parser.add_argument("--verify-each", action="store_true", help="verify the program at every level")
    parser.add_argument(
        "--time", "--pass-timing", action="store_true", help="print the time of each pass to standard error"
    )
    parser.add_argument("--explain", action="store_true", help="explain saturation and extraction on standard error")
    parser.add_argument("--json", action="store_true", help="print --explain as JSON, with the parts of each cost")
    parser.add_argument(
        "--provenance", action="store_true", help="record which rule made which node, for --emit egraph"
    )
