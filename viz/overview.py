"""The overview of a compilation: one node a value that the chosen program computes, loops as clusters."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from viz.picture import CHOSEN, INK, MUTED, SECOND, Drawing, Picture, rows, shorten
from viz.record import Record, Value, Way

MAX_VALUES = 150
"""Values in one picture: beyond them a screen shows no names. The first ones of the source are kept."""
WIDTH = 46
"""Characters of a line in a node."""
GROUNDS = {"product": "#e3f4ec", "memory": "#e4eefb", "exchange": "#fdf1e1", "plain": "white"}
"""Matrix products, what moves tiles to or from memory, what moves them between threads, the rest."""


def draw_overview(record: Record, details: Collection[int] = (), name: str = "overview") -> Picture:
    """Draw the values of the chosen program. `details`: numbers of those that have a picture to link to."""
    return _Overview(record, details).picture(name)


def picture_of(record: Record, value: int) -> str:
    """The name of the picture with the details of a value."""
    names = record.values[value].names
    word = "".join(c if c.isalnum() or c in "-_" else "-" for c in (names[0] if names else str(value)).lstrip("%"))
    same = [n for n, each in enumerate(record.values) if each.names[:1] == names[:1] and names]
    return f"value-{word}" + (f"-{same.index(value)}" if len(same) > 1 and same.index(value) else "")


def chosen_ways(record: Record, value: Value) -> list[tuple[int, Way]]:
    """The forms of a value that the chosen program makes, with how, but those that are another under a new name."""
    found = [(n, way) for n in value.forms for way in record.forms[n].ways if way.chosen]
    return [(n, way) for n, way in found if way.op != "own"]


def used_values(record: Record, way: Way) -> Iterator[int]:
    """The values that a way reads, each once."""
    yield from dict.fromkeys(record.forms[kid].value for kid in way.kids)


def ground(way: Way) -> str:
    """What kind of work a way is."""
    if way.op in ("mmaf", "mmai", "wgmma") or "mma" in way.atom:
        return GROUNDS["product"]
    if way.op == "cvt":
        return GROUNDS["exchange"]
    return GROUNDS["memory"] if way.mechanism else GROUNDS["plain"]


class _Overview:
    def __init__(self, record: Record, details: Collection[int]):
        self.record = record
        self.details = details
        self.hidden: dict[str, int] = {}
        self.shown = [n for n, value in enumerate(record.values) if self.shows(value)]
        if len(self.shown) > MAX_VALUES:
            self.hidden["values beyond the first"] = len(self.shown) - MAX_VALUES
            self.shown = self.shown[:MAX_VALUES]
        self.seen = set(self.shown)

    def shows(self, value: Value) -> bool:
        """Is a value drawn? Else it is counted."""
        if not chosen_ways(self.record, value):
            kind = "values that the program does without"
        elif "token" in value.type:
            kind = "tokens"
        elif any(term.op == "arg" for term in value.terms):
            kind = "arguments"
        elif any(term.op in ("constant", "splat") for term in value.terms) and "x" not in value.type:
            kind = "scalar constants"
        else:
            return True
        self.hidden[kind] = self.hidden.get(kind, 0) + 1
        return False

    def picture(self, name: str) -> Picture:
        """Clusters with their nodes, then the edges."""
        record = self.record
        cut = [f"{count} {kind}" for kind, count in self.hidden.items()]
        note = f"not drawn: {', '.join(cut)}" if cut else ""
        counts = f"{len(self.shown)} of {len(record.values)} values, {len(record.effects)} effects"
        title = f"{record.title}: {counts}; cost {record.figures.get('cost', 0):g} cycles\n{note}"
        graph = Drawing.new(name, title.strip(), ranksep="0.3", nodesep="0.2")
        self.loop(graph, -1)
        self.edges(graph)
        return Picture(name, graph.source, note)

    def loop(self, graph: Drawing, number: int) -> None:
        """What is directly in a loop, and the loops in it."""
        for value in self.shown:
            if self.record.values[value].loop == number:
                self.value(graph, value)
        for at, effect in enumerate(self.record.effects):
            if effect.loop == number:
                way = next((each for each in effect.ways if each.chosen), None)
                place = self.line(effect.places)
                lines = [effect.name.rpartition(".")[2] + place, *([way.text, cost(way)] if way else [])]
                graph.table(f"e{at}", rows([(shorten(text, WIDTH), INK) for text in lines], GROUNDS["memory"]))
        for inner, loop in enumerate(self.record.loops):
            if loop.parent == number:
                with graph.cluster(f"loop{inner}", f"{loop.name}, {loop.trips:g} iterations") as cluster:
                    self.loop(cluster, inner)

    def line(self, places: list[int]) -> str:
        """The line of the source."""
        lines = [self.record.places[place][1] for place in places[:1]]
        return f", line {lines[0]}" if lines and lines[0] else ""

    def value(self, graph: Drawing, number: int) -> None:
        """Name and type, then each form that is computed, with its cost and the runner-up."""
        value = self.record.values[number]
        ways = chosen_ways(self.record, value)
        lines = [(shorten(value.name, WIDTH), INK), (shorten(value.type, WIDTH), MUTED)]
        for form, way in ways:
            held = self.record.forms[form].layout
            where = f"{self.record.layouts[held].name}: " if held >= 0 else ""
            if way.cost or way.mechanism or way.atom != way.op or held >= 0:
                lines.append((shorten(f"{where}{way.text}", WIDTH), CHOSEN))
            if way.cost:
                lines.append((cost(way), CHOSEN))
        lines += [(shorten(text, WIDTH), MUTED) for text in self.reads(ways)]
        second = [way.runner_up for form in value.forms for way in self.record.forms[form].ways if way.runner_up]
        if second:
            lines.append((f"second: +{min(second):g} cycles", SECOND))
        link = {"URL": f"{picture_of(self.record, number)}.svg"} if number in self.details else {}
        grounds = [ground(way) for _, way in ways]
        colour = next((each for each in grounds if each != GROUNDS["plain"]), GROUNDS["plain"])
        graph.table(f"v{number}", rows(lines, colour), tooltip=value.name, **link)

    def reads(self, ways: list[tuple[int, Way]]) -> Iterator[str]:
        """What has no node and is read: arguments and constants, by name."""
        used = dict.fromkeys(each for _, way in ways for each in used_values(self.record, way) if each not in self.seen)
        words = [value.names[0] if value.names else value.name for each in used for value in [self.record.values[each]]]
        if words:
            yield f"of {', '.join(words)}"

    def edges(self, graph: Drawing) -> None:
        """Edges from values to their users; dashed from one iteration to the next."""
        found: dict[tuple[str, str], None] = {}
        for number in self.shown:
            for _, way in chosen_ways(self.record, self.record.values[number]):
                for used in used_values(self.record, way):
                    if used in self.seen and used != number:
                        found[f"v{used}", f"v{number}"] = None
        for at, effect in enumerate(self.record.effects):
            for way in effect.ways:
                for used in used_values(self.record, way) if way.chosen else ():
                    if used in self.seen:
                        found[f"v{used}", f"e{at}"] = None
        around: dict[tuple[str, str], None] = {}
        for loop in self.record.loops:
            for before, inside, end, after in loop.around:
                pairs = ((before, inside, found), (end, inside, around), (end, after, found))
                for tail, head, kind in pairs:
                    if tail in self.seen and head in self.seen and tail != head:
                        kind[f"v{tail}", f"v{head}"] = None
        for tail, head in found:
            graph.edge(tail, head)
        for tail, head in around:
            graph.edge(tail, head, style="dashed", constraint="false")


def cost(way: Way) -> str:
    """A cost in words, with its pipes where there are several."""
    if not way.cost:
        return "free"
    parts = ", ".join(f"{pipe} {cycles:.0f}" for pipe, cycles in way.parts.items())
    return f"cost {way.cost:g}" + (
        f": {parts}" if len(way.parts) > 1 else f", {parts.partition(' ')[0]}" if parts else ""
    )
