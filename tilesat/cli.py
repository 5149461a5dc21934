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

from tilesat.failures import describe, is_usage, user_errors
from tilesat.grid import PARTS, Grid, as_grid
from tilesat.one_shot_process import one_shot_process

OK, FAILED, USAGE = 0, 1, 2
INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""

STAGES = (
    "cuda_tile", "nv_tileaa", "egraph", "egraph-json", "egglog", "nv_tileas", "nvgpu", "nvvm", "llvm", "ptx", "sass",
)  # fmt: skip
READ = ("cuda_tile", "nv_tileaa", "nv_tileas", "nvgpu", "nvvm")
"""Levels that `compile`, `opt` and `run` take up from a file."""
EXTRACTORS = ("auto", "tree", "greedy", "pruned", "ilp")
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


def _extractor(text: str) -> str:
    if text in EXTRACTORS or (text.startswith("top:") and text[4:].isdecimal() and int(text[4:])):
        return text
    raise argparse.ArgumentTypeError(f"expected one of {', '.join(EXTRACTORS)}, top:N, got '{text}'")


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
    _add_compile(commands.add_parser("compile", help="Tile IR text or bytecode to PTX, or to any stage before it"))
    _add_explore(commands.add_parser("explore", help="one HTML page of a compilation, from the source to SASS"))
    _add_opt(commands.add_parser("opt", help="run passes, by name, on a program of any level"))
    _add_run(commands.add_parser("run", help="compile and run a kernel on the simulator, or interpret it"))
    check = commands.add_parser("check", help="parse and verify only")
    check.add_argument("file", type=Path, nargs="?", default=Path("-"), metavar="FILE",
                       help="Tile IR text or bytecode; - is standard input, and the default")  # fmt: skip
    check.add_argument("--hints", choices=("silent", "warn", "error"), default="warn", metavar="HOW",
                       help="what wrong optimization hints are: silent, warn (the default) or error")  # fmt: skip
    check.set_defaults(command="check")
    _add_cat(commands.add_parser("cat", help="convert between Tile IR text, generic text and bytecode"))
    _add_sanitize(commands.add_parser("sanitize", help="run a CUDA program or script on the simulator, find hazards"))
    why = commands.add_parser("why", help="the rules that make two terms of a kernel equal, step by step")
    why.add_argument("file", type=Path, metavar="FILE", help="Tile IR text or bytecode")
    why.add_argument("left", metavar="A", help="a value (%%acc), a node of --emit egraph (c12.0), or a term")
    why.add_argument("right", metavar="B")
    why.add_argument("--target", metavar="T", help=f"default {DEFAULT_TARGET}")
    _add_pipeline_options(why)
    why.set_defaults(command="why")
    _add_experiment(commands.add_parser("experiment", help="kernels x targets x configurations, to a table"))
    _add_mca(commands.add_parser("mca", help="what the loops of a cubin or of PTX take of an SM, predicted"))
    _add_bench_record(commands.add_parser("bench-record", help="cost, instructions, registers of a folder's kernels"))
    _add_bench_diff(commands.add_parser("bench-diff", help="compare two recorded runs; exit 1 where one is worse"))
    _add_fuzz(commands.add_parser("fuzz", help="random programs on every target; reduce what is wrong to a test"))
    passes = commands.add_parser("passes", help="list the passes of the compiler")
    passes.add_argument("--markdown", action="store_true", help="as tables, as in docs/passes.md")
    passes.set_defaults(command="passes")
    kept = commands.add_parser("cache", help="the folder of compiled kernels that tilesat.jit keeps")
    kept.set_defaults(command="cache")
    kept.add_argument("--clear", action="store_true", help="remove them all")
    targets = commands.add_parser("targets", help="list the targets and what they have")
    targets.set_defaults(command="targets")
    doctor = commands.add_parser("doctor", help="say which tools are found, and what is missing without them")
    doctor.set_defaults(command="doctor")
    demo = commands.add_parser("demo", help="a GEMM from Tile IR to PTX, run on the simulator and checked")
    demo.add_argument("--output", type=Path, default=Path("out/demo"), metavar="DIR", help="where the PTX goes")
    demo.set_defaults(command="demo")
    return parser


def _add_cat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, nargs="?", default=Path("-"), metavar="FILE", help="- (the default) is standard input"
    )
    parser.add_argument("--as", dest="form", choices=("text", "generic", "bytecode"), default="text", metavar="FORM",
                        help="text (the default), generic or bytecode")  # fmt: skip
    parser.add_argument("--bytecode-version", choices=("13.1", "13.2", "13.3", "13.4", "13.5"),
                        default="13.4", metavar="V", help="13.1 to 13.5, default %(default)s")  # fmt: skip
    parser.add_argument("--locations", action="store_true", help="print the place of each operation as loc(...)")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="default: standard output")
    parser.set_defaults(command="cat")


def _add_compile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="Tile IR, - (standard input) or MODULE.py:KERNEL")
    parser.add_argument("--sig", metavar="SPEC", help="parameters of MODULE.py:KERNEL, such as 'f16[?,?]; f32[?]; i32'")
    parser.add_argument("--target", metavar="T[,T...]", help=f"default {DEFAULT_TARGET}; see `tilesat targets`")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT",
                        help="default: standard output; k.cubin and k.fatbin are assembled")  # fmt: skip
    parser.add_argument("--manifest", type=Path, metavar="OUT.json", help="write the launch manifest")
    parser.add_argument("--header", type=Path, metavar="OUT.h", help="write a C header that launches it")
    parser.add_argument("--emit", choices=STAGES, default="ptx", metavar="STAGE", help=f"one of {', '.join(STAGES)}")
    parser.add_argument("--viz", type=Path, metavar="DIR", help="write pictures of what was chosen, and an explorer")
    parser.add_argument("--viz-focus", type=_focus, action="append", default=[], metavar="VALUE[:RADIUS]",
                        help="of a value of the source, and what is so many steps from it, 1 by default")  # fmt: skip
    parser.add_argument("--trace", type=Path, metavar="OUT.json",
                        help="write the loops' schedules as a trace for Perfetto")  # fmt: skip
    parser.add_argument("--lineinfo", action="store_true",
                        help="source places in PTX as .loc directives, for profilers and nvdisasm")  # fmt: skip
    parser.add_argument("--annotate", action="store_true",
                        help="a comment a line of PTX: the operation and the source place it comes from")  # fmt: skip
    parser.add_argument("--print-pipeline", action="store_true",
                        help="print the passes that would run, as `opt --passes` takes them, and run none")  # fmt: skip
    _add_pipeline_options(parser)
    _add_watching(parser)
    parser.set_defaults(command="compile")


def _add_explore(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, nargs="+", metavar="FILE", help="Tile IR, - (standard input) or MODULE.py:KERNEL"
    )
    parser.add_argument("--sig", metavar="SPEC", help="parameters of MODULE.py:KERNEL, such as 'f16[?,?]; f32[?]; i32'")
    parser.add_argument("--target", metavar="T[,T...]", help=f"default {DEFAULT_TARGET}; several are compared")
    parser.add_argument("-o", "--output", type=Path, default=Path("explorer.html"), metavar="OUT.html",
                        help="default %(default)s; - is standard output")  # fmt: skip
    _add_pipeline_options(parser)
    parser.set_defaults(command="explore")


def _add_opt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, nargs="?", default=Path("-"), metavar="FILE",
                        help="a program of any level; - is standard input, and the default")  # fmt: skip
    parser.add_argument("--passes", default="", metavar="PIPELINE",
                        help="such as a,b{option=1},c; none: read, verify and print")  # fmt: skip
    parser.add_argument("--target", metavar="T", help=f"default {DEFAULT_TARGET}, or what the program is for")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="default: standard output")
    parser.add_argument("--from", dest="level", choices=READ, metavar="LEVEL", help="insist that FILE holds this level")
    parser.add_argument("--entry", metavar="NAME", help="which kernel, where the module holds several")
    parser.add_argument("--verify-each", action="store_true", help="verify what each pass makes")
    parser.add_argument("--time", "--pass-timing", action="store_true", help="seconds of each pass, on standard error")
    _add_watching(parser)
    parser.set_defaults(command="opt")


def _add_watching(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--print-before", action="append", default=[], metavar="PASS",
                        help="print the program before this pass, or before all, on standard error")  # fmt: skip
    parser.add_argument("--print-after", action="append", default=[], metavar="PASS", help="the same after it")
    parser.add_argument("--print-diff", action="store_true", help="print what passes change, not whole programs")
    parser.add_argument("--stop-after", metavar="PASS", help="end with this pass and print what it made")
    parser.add_argument("--pass-statistics", action="store_true", help="what each pass counted, on standard error")
    parser.add_argument("--reproducer", type=Path, metavar="OUT",
                        help="where a pass fails, write its input and the command that repeats it")  # fmt: skip


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="Tile IR text or bytecode")
    parser.add_argument("--target", metavar="T", help=f"default {DEFAULT_TARGET}")
    parser.add_argument("--on", choices=BACKENDS, default="sim", help="simulator, reference interpreter or GPU")
    parser.add_argument("--grid", type=_grid, required=True, metavar="X[,Y[,Z]]", help="tile blocks")
    parser.add_argument("--arg", action="append", default=[], metavar="SPEC", help="f16[512,256]=normal:7, i32=512 ...")
    parser.add_argument("--check", action="store_true", help="compare with the reference interpreter")
    parser.add_argument("--tolerance", type=float, metavar="X", help="for --check, in place of the one by element type")
    parser.add_argument("--hazards", choices=("stop", "report"), metavar="HOW",
                        help="the simulator also looks for races and missing waits, and ends at the first (stop, the "
                             "default with --check) or goes on and lists them (report)")  # fmt: skip
    parser.add_argument("--no-hazards", dest="hazards", action="store_const", const="", help="leave that out")
    parser.add_argument("--suppress", action="append", default=[], metavar="KIND[:LINE]",
                        help="hazards that do not count, by kind, by PTX line, or both")  # fmt: skip
    parser.add_argument("--max-instructions", type=_count, metavar="N",
                        help="the simulator ends after so many instructions of warps; default no limit")  # fmt: skip
    parser.add_argument("--workers", type=_count, default=1, metavar="N",
                        help="processes of the simulator that share the grid; default 1")  # fmt: skip
    parser.add_argument("--save", type=Path, metavar="OUT.npz", help="write all array arguments as arg0, arg1, ...")
    _add_pipeline_options(parser)
    parser.set_defaults(command="run")


def _add_sanitize(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="PROGRAM", help="a program that holds PTX, or a Python script (.py)")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="ARGS", help="its arguments")
    parser.add_argument("--target", metavar="T",
                        help="the device; default the newest that the PTX inside is for, else sm_90")  # fmt: skip
    parser.add_argument("--multiprocessors", type=_count, default=8, metavar="N",
                        help="how many the device has, default %(default)s")  # fmt: skip
    parser.add_argument("--hazards", action=argparse.BooleanOptionalAction, default=True,
                        help="look for races and missing waits; the default")  # fmt: skip
    parser.add_argument("--suppress", action="append", default=[], metavar="KIND[:LINE]",
                        help="hazards that do not count, by kind, PTX line or both")  # fmt: skip
    parser.add_argument("--schedule", default="together", metavar="S",
                        help="together (the default), or skewed:SEED: each warp alone until it must wait")  # fmt: skip
    parser.add_argument("--max-instructions", type=_count, metavar="N",
                        help="end a kernel after so many instructions of warps; default no limit")  # fmt: skip
    parser.add_argument("--report", type=Path, metavar="OUT", help="write the report; default: standard error")
    parser.add_argument("--build", type=Path, metavar="DIR",
                        help="where the library is compiled, default ~/.cache/tilesat/driver")  # fmt: skip
    parser.set_defaults(command="sanitize")


def _add_mca(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a cubin, or PTX, of any compiler")
    parser.add_argument("--target", metavar="T", help="whose tables count; default what the file is for")
    parser.add_argument("--warps", type=_count, default=1, metavar="N",
                        help="warps that share a scheduler, default %(default)s")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="plain data in place of a table")
    parser.add_argument("--trace", type=Path, metavar="OUT.json",
                        help="write the loops' schedules as a trace for Perfetto")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="default: standard output")
    parser.set_defaults(command="mca")


def _add_experiment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="Tile IR, or MODULE.py:KERNEL")
    parser.add_argument("--target", metavar="T[,T...]", help=f"default {DEFAULT_TARGET}")
    parser.add_argument("--vary", action="append", default=[], metavar="NAME=V[;V...]",
                        help="values of one thing, lists with commas: 'forbid=;ldmatrix;ldmatrix,cp.async'; those of "
                             "several are combined")  # fmt: skip
    parser.add_argument("--configurations", type=Path, action="append", default=[], metavar="F.json",
                        help="an object with what a configuration varies, or a list of them")  # fmt: skip
    parser.add_argument("--entry", metavar="NAME", help="which kernel, where the module holds several")
    parser.add_argument("--sig", metavar="SPEC", help="parameters of MODULE.py:KERNEL, as of compile")
    parser.add_argument("--check", action="store_true", help="run on the simulator, compare with the interpreter")
    parser.add_argument("--grid", type=_grid, metavar="X[,Y[,Z]]", help="tile blocks, for --check")
    parser.add_argument("--arg", action="append", default=[], metavar="SPEC", help="arguments, for --check, as of run")
    parser.add_argument("--tolerance", type=float, metavar="X", help="for --check, in place of the one by element type")
    parser.add_argument("--no-ptxas", action="store_true", help="no registers, spills and loops of assembled code")
    parser.add_argument("--workers", type=_count, default=0, metavar="N", help="processes of a local Dask cluster")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster that runs, such as tcp://host:8786")
    parser.add_argument("--records", type=Path, metavar="F.jsonl",
                        help="all of each run as it ends; runs that it holds are not run again")  # fmt: skip
    parser.add_argument("--retry", action="store_true", help="those that died are")
    parser.add_argument("--progress", action="store_true", help="a bar also where standard error is not a terminal")
    parser.add_argument("--format", choices=("csv", "json", "jsonl", "markdown"), metavar="FORM",
                        help="csv, json, jsonl or markdown (the default)")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="default: standard output")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="pictures, by matplotlib")
    parser.set_defaults(command="experiment")


def _add_bench_record(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="its *.mlir, *.tileirbc and *.bc, and those below")
    parser.add_argument("--target", metavar="T[,T...]", help=f"default {DEFAULT_TARGET}")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT.json", help="default: standard output")
    parser.add_argument("--without-ptxas", action="store_true", help="do not assemble: count PTX instructions")
    parser.set_defaults(command="bench_record")


def _add_bench_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, metavar="OLD.json")
    parser.add_argument("new", type=Path, metavar="NEW.json")
    parser.add_argument(
        "--threshold",
        type=_percent,
        default=2.0,
        metavar="PERCENT",
        help="by which costs and counts may grow, default %(default)g",
    )
    parser.add_argument("--time-threshold", type=_percent, default=50.0, metavar="PERCENT",
                        help="by which CPU seconds of a compilation may, default %(default)g, and 0.1 s")  # fmt: skip
    parser.set_defaults(command="bench_diff")


def _percent(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of percent from 0")
    return found


def _add_fuzz(parser: argparse.ArgumentParser) -> None:
    how_long = parser.add_mutually_exclusive_group()
    how_long.add_argument("--programs", type=_count, metavar="N", help="so many programs; default 100")
    how_long.add_argument("--minutes", type=_count, metavar="N", help="as many programs as so many minutes allow")
    parser.add_argument("--targets", metavar="T[,T...]", help="default: seven, from sm_80 to sm_120a")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first program, default %(default)s")
    parser.add_argument("--kinds", metavar="K[,K...]", help="generators in turn: mixed, generated, ordered, promised")
    parser.add_argument("--rules", type=Path, action="append", default=[], metavar="F.egg",
                        help="compile with these rewrite rules too")  # fmt: skip
    parser.add_argument("--jobs", type=_count, default=0, metavar="N", help="processes; default: this one")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on this Dask cluster (extra lab)")
    parser.add_argument("--log", type=Path, metavar="FILE", help="verdicts, kept; a second run goes on where it ends")
    parser.add_argument("-o", "--output", type=Path, default=Path("fuzz"), metavar="DIR",
                        help="where the tests of what is wrong go, default %(default)s")  # fmt: skip
    parser.add_argument("--no-reduce", dest="reduce", action="store_false", help="only say what is wrong")
    parser.add_argument("--without-ptxas", action="store_true", help="do not assemble")
    parser.set_defaults(command="fuzz")


def _add_pipeline_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="level", choices=READ, metavar="LEVEL",
                        help=f"insist that FILE holds one of {', '.join(READ)}; else its text says which")  # fmt: skip
    parser.add_argument("--entry", metavar="NAME", help="which kernel, where the module holds several")
    parser.add_argument(
        "--rules", type=Path, action="append", default=[], metavar="F.egg", help="add rewrite rules to the e-graph"
    )
    parser.add_argument("--unchecked", action="store_true", help="do not try the rules of --rules on samples first")
    parser.add_argument(
        "--without", action="append", default=[], metavar="PREFIX", help="leave out rules whose name starts so"
    )
    parser.add_argument("--forbid", action="append", default=[], metavar="ATOM", help="an atom not to be chosen")
    parser.add_argument("--fast", action="append", default=[], metavar="[ENTRY=]NAME[,NAME]",
                        help="inexact replacements that are allowed, of all entries or of one: nsz, contract, reassoc, "
                             "arcp, afn, ftz, nnan, ninf, uscale, triton")  # fmt: skip
    parser.add_argument("--persistent", default="off", metavar="static|atomic|dynamic|auto",
                        help="as many CTAs as fit the device go through all tile blocks of the grid; auto: if that "
                             "costs less")  # fmt: skip
    parser.add_argument("--consumers", default="auto", metavar="cooperative|ping-pong|auto",
                        help="warpgroups on one tile of a persistent loop, or in turn on successive ones; auto: as "
                             "takes less time (default)")  # fmt: skip
    parser.add_argument("--ocg-knobs", action="store_true",
                        help="pragmas for the scheduler of ptxas, of which 13.5 knows none")  # fmt: skip
    parser.add_argument("--num-ctas", type=_ctas, default=0, metavar="N",
                        help="CTAs of a cluster that divide each tile block, 1x2: in these parts, auto: as many as "
                             "cost least; default: as hints say")  # fmt: skip
    parser.add_argument("--tile-blocks", type=_count, default=0, metavar="N",
                        help="of a launch, for --num-ctas auto and --persistent auto; default: more than fill the "
                             "device")  # fmt: skip
    parser.add_argument(
        "--extractor", type=_extractor, default="auto", metavar="METHOD",
        help=f"{', '.join(EXTRACTORS)}, or top:N, the Nth cheapest program (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--extract-budget", type=_count, metavar="N",
                        help="units of work of the search for the cheapest program, default 10000")  # fmt: skip
    parser.add_argument("--saturate-budget", type=_count, metavar="N",
                        help="matches of rewrite rules, default 200000")  # fmt: skip
    parser.add_argument("--verify-each", action="store_true", help="verify every level that the program goes through")
    parser.add_argument("--time", "--pass-timing", action="store_true", help="seconds of each pass, on standard error")
    parser.add_argument("--explain", action="store_true", help="what saturation and extraction did, on standard error")
    parser.add_argument("--json", action="store_true", help="with --explain: as JSON, with the parts of each cost")
    parser.add_argument("--provenance", action="store_true",
                        help="note which rule made which node: --emit egraph says it, --time what it took")  # fmt: skip


def _count(text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _ctas(text: str) -> int | str:
    return text if text == "auto" or PARTS.fullmatch(text) else _count(text)


def _focus(text: str) -> tuple[str, int]:
    name, colon, radius = text.partition(":")
    if not name.lstrip("%") or (colon and not (radius.isdecimal() and int(radius))):
        raise argparse.ArgumentTypeError(f"cannot read {text!r}: expected VALUE or VALUE:RADIUS, such as %acc:2")
    return name, int(radius or 1)


def _grid(text: str) -> Grid:
    parts = text.split(",")
    if not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not X[,Y[,Z]] of positive numbers")
    try:
        return as_grid([int(part) for part in parts])
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
