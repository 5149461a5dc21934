"""Pipelines of nv_tileas before their stages have numbers: they read back, and what breaks their order is refused."""

from __future__ import annotations

import re
from functools import cache

import pytest

from ir.core import TileError, verify
from ir.load import load
from ir.text.level_input import read_level
from lowering.passes import code as code  # declares layouts
from lowering.passes.manager import run
from lowering.passes.syntax import parse, until
from lowering.passes.table import ROAD
from tests.programs.agents import AGENTS
from tests.tilesat.example_cases import EXAMPLES
from tilesat import compile, lower

CASES = {
    "gemm": ("sm_80", "sm_90a"),
    "layernorm": ("sm_80", "sm_120a"),
    "agents-ring-around-ring": ("sm_90a",),
    "agents-persistent-ordered": ("sm_90a", "sm_80"),
    "agents-in-a-branch": ("sm_90a",),
    "agents-endless-queue": ("sm_90a",),
    "agents-two-loops": ("sm_90a",),
    "agents-expert": ("sm_90a",),
    "agents-seen-in-a-branch": ("sm_90a",),
    "flash_attention": ("sm_90a",),
}
"""Rings of one agent and of two, around each other, in branches, one behind the other; channels; threads that copy;
two rings in a loop."""


def source(name: str) -> str:
    return AGENTS[name].source() if name in AGENTS else (EXAMPLES / f"{name}.mlir").read_text()


@cache
def pipelined(name: str, target: str) -> str:
    (made,) = run(until(parse(ROAD), "tileas-materialize-schedule"), load(source(name)).entries[0], [target])
    return made.text()


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "target"), [(name, target) for name, tiers in CASES.items() for target in tiers])
def test_reads_back(name: str, target: str) -> None:
    text = pipelined(name, target)
    assert '"nv_tileas.async.pipeline.create_iterator"' in text
    assert "mbarrier_" not in text
    assert lower(text).ptx == compile(source(name), target).ptx


SHARED = "#nv_tileas.shared<offset = [1, 2, 4, 8, 16], bytes = 4>"
SHORT = {
    "$buffer": f"!nv_tileas.smem<3x32xf32, {SHARED}>",
    "$tile": f"tensor<32xf32, {SHARED}>",
    "$lanes": "#nv_tileas.linear<reg = [], lane = [1, 2, 4, 8, 16], warp = [], size = 32>",
    "$view": "!cuda_tile.partition_view<tile=(32), tensor_view<4096xf32, strides=[1]>>",
    "$iter": "!nv_tileas.pipeline_iter<3>",
    "$ring": "!nv_tileas.pipeline<3>",
    "$consumer": "!nv_tileas.consumer_token",
    "$producer": "!nv_tileas.producer_token",
    "$p.": "nv_tileas.async.pipeline.",
    "$copy": '"nv_tileas.async.tiled_copy"(%buffer, %at, %view, %k) <{asynchronous = true, bytes = 4 : i64, '
             "operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>, threads = $lanes}> : ($buffer, $iter, $view, i32) -> ()",
}  # fmt: skip
HEAD = """
"nv_tileas.func"() <{pipelined = true, sym_name = "f", target = "sm_90a", warps = 1 : i64}> ({
^bb0(%view: $view, %n: i32, %c: i1):
  %one = "arith.constant"() <{value = 1 : i32}> : () -> i32
  %ring = "$p.create_pipeline"() <{by = "$by"}> : () -> $ring
  %buffer = "nv_tileas.alloc_tensor"() <{offset = 0 : i64, stage_bytes = 128 : i64}> : () -> $buffer
"""
PRODUCER = """
  %filled = "scf.for"(%one, %n, %one, %first) ({
  ^bb0(%k: i32, %at: $iter):
    "$p.produce_one"(%ring, %at) ({
      %empty = "$p.producer_acquire"(%ring, %at) : ($ring, $iter) -> $producer
      %written = "$p.producer_write"(%empty) ({
        $copy
        "$p.yield"() : () -> ()
      }) : ($producer) -> $producer
      "$p.producer_commit"(%written) <{copies = true}> : ($producer) -> ()
      "$p.yield"() : () -> ()
    }) : ($ring, $iter) -> ()
    %next = "$p.inc_iter"(%at) : ($iter) -> $iter
    "scf.yield"(%next) : ($iter) -> ()
  }) : (i32, i32, i32, $iter) -> $iter
"""
READER = """
      %full = "$p.consumer_wait"(%ring, %at) : ($ring, $iter) -> $consumer
      %read = "$p.consumer_read"(%full) ({
        %tile = "nv_tileas.buffer_view"(%buffer, %at) : ($buffer, $iter) -> $tile
        "$p.yield"() : () -> ()
      }) : ($consumer) -> $consumer
"""
CONSUMER = f"""
  %none = "$p.create_none"(%ring) : ($ring) -> $consumer
  %seen:2 = "scf.for"(%one, %n, %one, %first, %none) ({{
  ^bb0(%k: i32, %at: $iter, %before: $consumer):
    %held = "$p.consume_one"(%ring, %at) ({{{READER}
      "$p.consumer_release"(%before) : ($consumer) -> ()
      "$p.yield"(%read) : ($consumer) -> ()
    }}) : ($ring, $iter) -> $consumer
    %next = "$p.inc_iter"(%at) : ($iter) -> $iter
    "scf.yield"(%next, %held) : ($iter, $consumer) -> ()
  }}) : (i32, i32, i32, $iter, $consumer) -> ($iter, $consumer)
  "$p.consumer_release"(%seen#1) : ($consumer) -> ()
"""
FIRST = '  %first = "$p.create_iterator"(%ring) : ($ring) -> $iter'
TAIL = '  "nv_tileas.return"() : () -> ()\n}) : () -> ()\n'
AGENTS_TEXT = f"""{HEAD}
  "nv_tileas.async.agent_switch"() <{{agent_strides = array<i64: 1, 4>, num_warps = array<i64: 1, 4>,
    roles = ["consume", "copy"], warp_id = array<i64: 0, 1>}}> ({{
{FIRST}{CONSUMER}
  }}, {{
{FIRST}{PRODUCER}
  }}) : () -> ()
{TAIL}"""
"""Two agents; a stage is released one iteration after it has been read."""
ALONE_TEXT = f"""{HEAD}
{FIRST}
  %filled = "scf.for"(%one, %n, %one, %first) ({{
  ^bb0(%k: i32, %at: $iter):
    %j = "arith.addi"(%k, %one) : (i32, i32) -> i32
    "$p.produce_one"(%ring, %at) <{{ahead = 2 : i64}}> ({{
      %empty = "$p.producer_acquire"(%ring, %at) : ($ring, $iter) -> $producer
      %written = "$p.producer_write"(%empty) ({{
        $copy
        "$p.yield"() : () -> ()
      }}) : ($producer) -> $producer
      "$p.producer_commit"(%written) <{{copies = true}}> : ($producer) -> ()
      "$p.yield"() : () -> ()
    }}) : ($ring, $iter) -> ()
    "$p.consume_one"(%ring, %at) ({{{READER}
      "$p.consumer_release"(%read) : ($consumer) -> ()
      "$p.yield"() : () -> ()
    }}) : ($ring, $iter) -> ()
    %next = "$p.inc_iter"(%at) : ($iter) -> $iter
    "scf.yield"(%next) : ($iter) -> ()
  }}) : (i32, i32, i32, $iter) -> $iter
{TAIL}"""
"""One agent, which fills stages two iterations ahead."""
TEXTS = {"agents": (AGENTS_TEXT, "mbarriers"), "alone": (ALONE_TEXT, "groups")}


def checked(text: str, by: str) -> None:
    """Read and verify."""
    text = text.replace("$by", by).replace("$copy", SHORT["$copy"])
    for short, whole in SHORT.items():
        text = text.replace(short, whole)
    verify(read_level(text))


def test_rings_of_a_loop_release_their_own_stages() -> None:
    """Keys and values: each consumer releases a stage of its ring."""
    text = pipelined("flash_attention", "sm_90a")
    loop = text[text.index('"scf.for"') :]
    values, keys = re.findall(r"consumer_release\"\(%\w+(?:#\d+)?\)", loop)[:2]
    with pytest.raises(TileError, match="must release a stage of its own ring"):
        verify(read_level(text.replace(loop, loop.replace(keys, values))))


@pytest.mark.parametrize("name", TEXTS)
def test_the_texts_that_are_changed_are_right(name: str) -> None:
    checked(*TEXTS[name])


ENDED = '"scf.yield"() : () -> ()'
STEP = '    %next = "$p.inc_iter"(%at) : ($iter) -> $iter\n'
END = '    "scf.yield"(%next, %held) : ($iter, $consumer) -> ()'
RELEASE = '      "$p.consumer_release"(%before) : ($consumer) -> ()\n'
LAST = '  "$p.consumer_release"(%seen#1) : ($consumer) -> ()\n'
COMMIT = '      "$p.producer_commit"(%written) <{copies = true}> : ($producer) -> ()\n'
VIEW = '        %tile = "nv_tileas.buffer_view"(%buffer, %at) : ($buffer, $iter) -> $tile\n'
ORDER = "must wait for its stage, read it, release it or the one before, in this order and once each"
FILLED = "must acquire its stage, write it, commit it, in this order and once each"
ASKED = SHORT["$copy"].replace("%at,", "%at, %c,").replace("1, 1, 0", "1, 1, 1").replace("$iter,", "$iter, i1,")
CONSUME = CONSUMER[CONSUMER.index("    %held = ") : CONSUMER.index("    %next = ")].replace("%held", "%later")
BROKEN: list[tuple[str, str, str, str]] = [
    ("agents", RELEASE, "", ORDER),
    ("agents", RELEASE, RELEASE + RELEASE.replace("before", "read"), ORDER),
    ("agents", RELEASE, RELEASE.replace("before", "full"),
     "must release the stage that has been read, or the one that the loop carries"),
    ("agents", LAST, "", "its token must be used once, by what releases its stage, is used 0 times"),
    ("agents", LAST, LAST * 2, "its token must be used once, by what releases its stage, is used 2 times"),
    ("agents", RELEASE, RELEASE.replace("before", "read"),
     "the loop's token must be used once, by what releases its stage, is used 0 times"),
    ("agents", LAST, f'  "scf.if"(%c) ({{\n{LAST}"scf.yield"() : () -> ()\n}}, {{{ENDED}}}) : (i1) -> ()\n',
     "the stage must be released on every path from where it is read"),
    ("agents", END, END.replace("%held)", "%before)"), "must yield the token of a stage that this iteration has read"),
    ("agents", '%none = "$p.create_none"(%ring)',
     '%more = "$p.create_pipeline"() : () -> $ring\n%none = "$p.create_none"(%more)',
     "must yield the token of a stage of the same ring"),
    ("agents", LAST, '  %o = "scf.if"(%c) ({"scf.yield"(%seen#1) : ($consumer) -> ()}, {"scf.yield"(%seen#1) : '
     "($consumer) -> ()}) : (i1) -> $consumer\n" + LAST.replace("%seen#1", "%o"),
     "its token must be used once, by what releases its stage, is used 2 times"),
    ("agents", LAST, LAST.replace("%seen#1)", "%seen#1) <{last = true}>").join(
        ['  "scf.for"(%one, %n, %one) ({\n^bb0(%q: i32):\n', '"scf.yield"() : () -> ()\n}) : (i32, i32, i32) -> ()\n']),
     "the stage must be released on every path from where it is read"),
    ("agents", '%full) ({', '%before) ({', "must read the stage that has been waited for"),
    ("agents", STEP + END, END.replace("%next", "%at"), "passes on an iterator before its inc_iter"),
    ("agents", STEP, STEP.replace("%next", "%skipped") + STEP.replace("%at", "%skipped"),
     "advances past a stage that nothing has used"),
    ("agents", STEP, STEP + STEP.replace("%next", "%other"),
     "the iterator has advanced: its stage may no longer be used"),
    ("agents", END, FIRST.replace("%first", "%new") + "\n" + END.replace("%next", "%new"),
     "must yield the loop's own iterator, advanced or not"),
    ("agents", COMMIT, "", FILLED),
    ("agents", COMMIT, COMMIT * 2, FILLED),
    ("agents", COMMIT, COMMIT.replace("%written", "%empty"), "must commit the stage that has been written"),
    ("agents", "$copy", '"$p.yield"() : () -> ()\n$copy', "must end the region of a producer or a consumer"),
    ("agents", COMMIT, COMMIT + "$copy\n", FILLED),
    ("agents", "    " + STEP.strip() + "\n    \"scf.yield\"(%next) :", "$copy\n" + STEP + '    "scf.yield"(%next) :',
     "the stage of an iterator may be written only inside its producer_write"),
    ("agents", STEP + END, VIEW + STEP + END, "the stage of an iterator may be read only inside its consumer_read"),
    ("agents", PRODUCER, "", "the ring has no producer"),
    ("agents", CONSUMER, "", "the ring has no consumer"),
    ("agents", '"$p.produce_one"(%ring, %at)', '"$p.produce_one"(%ring, %at) <{ahead = 1 : i64}>',
     "must fill stages ahead of its loop exactly when the ring is filled by groups"),
    ("agents", FIRST, FIRST + '\n%other = "$p.create_iterator"(%ring) : ($ring) -> !nv_tileas.pipeline_iter<4>',
     "must give !nv_tileas.pipeline_iter<3>"),
    ("agents", FIRST, '%more = "$p.create_pipeline"() : () -> $ring\n' + FIRST.replace("%ring)", "%more)"),
     "the iterator belongs to another ring"),
    ("agents", CONSUMER, f'"scf.for"(%one, %n, %one) ({{\n^bb0(%q: i32):{CONSUMER}{ENDED}\n}}) : (i32, i32, i32) -> ()',
     "the enclosing loop does not carry the iterator"),
    ("agents", CONSUMER, f"""%again = "scf.for"(%one, %n, %one, %first) ({{
       ^bb0(%q: i32, %round: $iter):{CONSUMER.replace("%first", "%round").replace("#1)", "#1) <{last = true}>")}
       "scf.yield"(%seen#0) : ($iter) -> ()\n}}) : (i32, i32, i32, $iter) -> $iter""",
     "the ring is used again: the next run of the enclosing loop waits for this stage"),
    ("agents", STEP, STEP.replace("%next", "%second") + (CONSUME + STEP).replace("%at", "%second"),
     "the iterator advances twice in one iteration"),
    ("agents", LAST, f"""%o = "scf.if"(%c) ({{"scf.yield"(%seen#1) : ($consumer) -> ()}}, {{
       %none2 = "$p.create_none"(%ring) : ($ring) -> $consumer\n"scf.yield"(%none2) : ($consumer) -> ()
       }}) : (i1) -> $consumer\n{LAST.replace("%seen#1", "%o")}""", "only a counted loop may carry a consumer's token"),
    ("agents", LAST, """%o = "scf.while"(%seen#1) ({^bb0(%q: $consumer):
       "scf.condition"(%c, %q) <{operandSegmentSizes = array<i32: 1, 1>}> : (i1, $consumer) -> ()
       }) : ($consumer) -> $consumer\n""", "cannot take a consumer's token"),
    ("alone", "ahead = 2", "ahead = 3", "a ring that is filled 3 iterations ahead needs 4 stages, has 3"),
    ("alone", " <{ahead = 2 : i64}>", "",
     "must fill stages ahead of its loop exactly when the ring is filled by groups"),
    ("alone", "$copy", SHORT["$copy"].replace("%k)", "%j)"),
     "a copy issued ahead may depend on no value of the loop but its counter"),
    ("alone", "$copy", ASKED,
     "a ring filled by groups needs unconditional copies by threads"),
    ("alone", FIRST, FIRST.replace("%first", "%any") + '\n  %first = "scf.if"(%c) ('
     '{"scf.yield"(%any) : ($iter) -> ()}, {"scf.yield"(%any) : ($iter) -> ()}) : (i1) -> $iter',
     "a ring filled by groups starts with its loop, which must carry the ring's first iterator"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "message"), BROKEN)
def test_refused(name: str, old: str, new: str, message: str) -> None:
    text, by = TEXTS[name]
    assert old in text
    with pytest.raises(TileError, match=re.escape(message)) as caught:
        checked(text.replace(old, new, 1), by)
    assert caught.value.location.line > 0


LINES = [number for number, line in enumerate(AGENTS_TEXT.splitlines()) if '"$p.' in line and "({" not in line]


@pytest.mark.parametrize("number", LINES)
def test_no_step_may_be_left_out(number: int) -> None:
    """Without any one line about a pipeline the text is refused."""
    lines = AGENTS_TEXT.splitlines()
    del lines[number]
    with pytest.raises(TileError):
        checked("\n".join(lines), "mbarriers")
