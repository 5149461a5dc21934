"""Mutation operators: each a small fault in a protocol, as a rewrite of one PTX statement, applied at every site.

Operators know opcodes, not kernels; a mutant is named by its kernel, its operator and the PTX line of the statement.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_GUARD = r"(?:@!?%?[\w$]+\s+)?(?<![\w.$%])"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
Rewrite = Callable[[re.Match[str]], list[str]]


@dataclass(frozen=True)
class Operator:
    """name; meaning: what the mutants lack; pattern: the statements it applies to; rewrite: what each becomes."""

    name: str
    meaning: str
    pattern: str
    rewrite: Rewrite


@dataclass(frozen=True)
class Mutant:
    """A kernel with one change: at a PTX line (from 1); number: which of the operator's rewrites of that site."""

    kernel: str
    operator: str
    line: int
    number: int
    statement: str
    ptx: str

    @property
    def name(self) -> str:
        """What the tables call it."""
        return f"{self.kernel}:{self.line} {self.operator}" + (f" ({self.number})" if self.number else "")


def _dropped(match: re.Match[str]) -> list[str]:
    return [re.sub(r"[^\n]", " ", match[0])]


def _swap(old: str, new: str) -> Rewrite:
    """One text in the statement for another."""
    return lambda match: [match[0].replace(old, new, 1)]


def _last_number(*changes: Callable[[int], int]) -> Rewrite:
    """The last operand, a number, changed; changes that leave it, or make it negative, give no mutant."""

    def rewrite(match: re.Match[str]) -> list[str]:
        found = re.search(r"(-?\d+|0[xX][0-9a-fA-F]+)(\s*;)$", match[0])
        if found is None:
            return []
        given = int(found[1], 0)
        wanted = [change(given) for change in changes]
        return [f"{match[0][: found.start()]}{value}{found[2]}" for value in wanted if value != given and value >= 0]

    return rewrite


def _flipped(kind: str, bit: int) -> Rewrite:
    """The last operand, a number or a register of `kind`, with one bit flipped."""

    def rewrite(match: re.Match[str]) -> list[str]:
        head, value, tail = re.split(r"([^,;\s]+)(?=\s*;$)", match[0], maxsplit=1)
        if value.isdecimal():
            return [f"{head}{int(value) ^ bit}{tail}"]
        return [f"{{ .reg .{kind} %flipped; xor.{kind} %flipped, {value}, {bit}; {head}%flipped{tail} }}"]

    return rewrite


def _half(match: re.Match[str]) -> list[str]:
    return [re.sub(r"(-1|0xffffffff|4294967295)(\s*;)$", r"65535\2", match[0], flags=re.IGNORECASE)]


def _relaxed(match: re.Match[str]) -> list[str]:
    return [re.sub(r"\.(release|acquire|acq_rel)\.", ".relaxed.", match[0], count=1)]


def _statement(opcode: str) -> str:
    return rf"{_GUARD}{opcode}[^;{{}}]*(?:\{{[^}}]*\}}[^;{{}}]*)*;"


_BAR = r"(?:bar|barrier(?:\.cta)?)\.sync\b"
_WAIT = r"mbarrier\.(?:try|test)_wait\b"
_EXCHANGE = r"(?:shfl|vote|match|redux)\.\S*sync\b"
OPERATORS = [
    Operator("cp.async wait dropped", "cp.async.wait_group or wait_all", _statement(r"cp\.async\.wait_\w+"), _dropped),
    Operator("cp.async wait of one group fewer", "cp.async.wait_group N+1", _statement(r"cp\.async\.wait_group"),
             _last_number(lambda n: n + 1)),
    Operator("cp.async commit dropped", "cp.async.commit_group", _statement(r"cp\.async\.commit_group"), _dropped),
    Operator("bulk wait dropped", "cp.async.bulk.wait_group", _statement(r"cp\.async\.bulk\.wait_group"), _dropped),
    Operator("bulk wait of one group fewer", "cp.async.bulk.wait_group N+1",
             _statement(r"cp\.async\.bulk\.wait_group"), _last_number(lambda n: n + 1)),
    Operator("bulk commit dropped", "cp.async.bulk.commit_group", _statement(r"cp\.async\.bulk\.commit_group"),
             _dropped),
    Operator("wgmma fence dropped", "wgmma.fence", _statement(r"wgmma\.fence"), _dropped),
    Operator("wgmma commit dropped", "wgmma.commit_group", _statement(r"wgmma\.commit_group"), _dropped),
    Operator("wgmma wait dropped", "wgmma.wait_group", _statement(r"wgmma\.wait_group"), _dropped),
    Operator("wgmma wait of one group fewer", "wgmma.wait_group N+1", _statement(r"wgmma\.wait_group"),
             _last_number(lambda n: n + 1)),
    Operator("barrier dropped", "bar.sync, barrier.sync", _statement(_BAR), _dropped),
    Operator("barrier arrival dropped", "bar.arrive", _statement(r"(?:bar|barrier(?:\.cta)?)\.arrive\b"), _dropped),
    Operator("warp barrier dropped", "bar.warp.sync", _statement(r"bar\.warp\.sync"), _dropped),
    Operator("cluster barrier dropped", "barrier.cluster.arrive with its wait",
             _statement(r"barrier\.cluster\.arrive") + r"\s*" + _statement(r"barrier\.cluster\.wait"), _dropped),
    Operator("cluster arrival relaxed", "barrier.cluster.arrive.release",
             r"barrier\.cluster\.arrive(?!\.relaxed)(?:\.release)?\b",
             lambda match: ["barrier.cluster.arrive.relaxed"]),
    Operator("wait dropped", "mbarrier.try_wait or test_wait with its loop",
             _statement(_WAIT) + r"\s*@!?%?\w+\s+bra[^;]*;", _dropped),
    Operator("wait without its loop", "the branch back to mbarrier.try_wait",
             rf"({_WAIT}\S*\s+(%?\w+)\s*,[^;]*;\s*)@!\2\s+bra[^;]*;", lambda match: [match[1]]),
    Operator("parity flipped", "the right phase of a wait",
             _statement(r"mbarrier\.(?:try|test)_wait\S*\.parity"), _flipped("b32", 1)),
    Operator("transaction bytes wrong", "expect_tx of 16 more, and 16 fewer",
             _statement(r"mbarrier\.(?:arrive\.)?expect_tx"), _last_number(lambda n: n + 16, lambda n: n - 16)),
    Operator("arrival dropped", "mbarrier.arrive, with its expect_tx", _statement(r"mbarrier\.arrive"), _dropped),
    Operator("arrival relaxed", "release of an mbarrier.arrive that expects no bytes",
             _statement(r"mbarrier\.arrive(?!\S*(?:relaxed|noComplete|expect_tx))"),
             lambda match: [re.sub(r"arrive(?:\.release\.\w+)?", "arrive.relaxed.cluster", match[0], count=1)]),
    Operator("arrival count wrong", "mbarrier.init of one more, and one fewer", _statement(r"mbarrier\.init\b"),
             _last_number(lambda n: n + 1, lambda n: n - 1 if n > 1 else n)),
    Operator("init dropped", "mbarrier.init", _statement(r"mbarrier\.init\b"), _dropped),
    Operator("init fence dropped", "fence.mbarrier_init", _statement(r"fence\.mbarrier_init"), _dropped),
    Operator("proxy fence dropped", "fence.proxy.async", _statement(r"fence\.proxy\.async"), _dropped),
    Operator("tensor map fence dropped", "fence.proxy.tensormap", _statement(r"fence\.proxy\.tensormap"), _dropped),
    Operator("fence dropped", "fence.acq_rel, fence.sc, membar",
             _statement(r"(?:fence\.(?:acq_rel|sc|acquire|release)|membar)\b"), _dropped),
    Operator("access relaxed", "release or acquire of ld, st, atom, red",
             _statement(r"(?:ld|st|atom|red)\.\S*?(?:release|acquire|acq_rel)\.\S+"), _relaxed),
    Operator("multicast mask changed", "one CTA of a multicast",
             _statement(r"(?:cp\.async\.bulk|tcgen05\.commit)\S*multicast::cluster"), _flipped("b16", 2)),
    Operator("members wrong", "half of the lanes of shfl, vote, match, redux",
             _statement(_EXCHANGE), _half),
    Operator("tcgen05 load wait dropped", "tcgen05.wait::ld", _statement(r"tcgen05\.wait::ld"), _dropped),
    Operator("tcgen05 store wait dropped", "tcgen05.wait::st", _statement(r"tcgen05\.wait::st"), _dropped),
    Operator("tcgen05 commit dropped", "tcgen05.commit", _statement(r"tcgen05\.commit"), _dropped),
    Operator("tcgen05 fence dropped", "tcgen05.fence", _statement(r"tcgen05\.fence"), _dropped),
    Operator("tcgen05 deallocation dropped", "tcgen05.dealloc", _statement(r"tcgen05\.dealloc"), _dropped),
    Operator("grid dependency dropped", "griddepcontrol.wait", _statement(r"griddepcontrol\.wait"), _dropped),
]  # fmt: skip


def mutants_of(kernel: str, ptx: str) -> Iterator[Mutant]:
    """All mutants of a kernel, by operator and line."""
    code = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), ptx)
    for operator in OPERATORS:
        for match in re.finditer(operator.pattern, code):
            line = code.count("\n", 0, match.start()) + 1
            texts = [text for text in operator.rewrite(match) if text != match[0]]
            for number, text in enumerate(texts):
                changed = ptx[: match.start()] + text + ptx[match.end() :]
                statement = " ".join(match[0].split())
                yield Mutant(kernel, operator.name, line, number, statement, changed)
