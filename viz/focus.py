"""A value in detail: every layout that it may have, every way to compute it, and its neighbourhood in the e-graph."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from viz.overview import cost, ground, picture_of
from viz.picture import CHOSEN, FAINT, ILLEGAL, INK, MUTED, SECOND, Drawing, Picture, rows, shorten
from viz.record import Form, Record, Way

MAX_ROWS = 9
"""Ways of one form that are listed: the chosen one, those that came second, then the cheapest, then those not legal."""
MAX_FORMS = 24
"""Forms of one value that are drawn, those of the chosen program first."""
MAX_NEAR = 40
"""Values around that are drawn, the nearest first."""
WIDTH = 110
"""Characters of a line."""


def draw_focus(
    record: Record, value: int, radius: int = 1, details: Collection[int] = (), back: str = "", name: str = ""
) -> Picture:
    """Draw one value with all its ways, those at less than `radius` steps from it too, and one box for each value at
    `radius`. `details`: values that have a picture to link to; `back`: the file that the focus itself links to.
    """
    return _Focus(record, value, radius, details, back).picture(name or picture_of(record, value))


def neighbours(record: Record) -> dict[int, dict[int, None]]:
    """The values that each value is made of or that are made of it, by any way; those of the chosen program first."""
    found: dict[int, dict[int, None]] = {number: {} for number in range(len(record.values))}
    for wanted in (True, False):
        for form in record.forms:
            for way in form.ways:
                if way.chosen is wanted:
                    for kid in way.kids:
                        other = record.forms[kid].value
                        if other != form.value:
                            found[form.value][other] = None
                            found[other][form.value] = None
    return found


def distances(near: Mapping[int, Mapping[int, None]], start: int, radius: int) -> dict[int, int]:
    """Steps from a value to each that is at most `radius` away, the nearest first."""
    found, layer = {start: 0}, [start]
    for steps in range(1, radius + 1):
        layer = [other for value in layer for other in near[value] if other not in found]
        found |= dict.fromkeys(layer, steps)
        layer = list(dict.fromkeys(layer))
    return found


class _Focus:
    def __init__(self, record: Record, value: int, radius: int, details: Collection[int], back: str):
        self.record, self.value, self.details, self.back = record, value, details, back
        found = distances(neighbours(record), value, radius)
        self.cut: dict[str, int] = {}
        if len(found) > MAX_NEAR + 1:
            self.count("values around", len(found) - MAX_NEAR - 1)
            found = dict(list(found.items())[: MAX_NEAR + 1])
        self.whole = [each for each, steps in found.items() if steps < max(1, radius)]
        self.boxes = [each for each in found if each not in self.whole]
        self.forms = {each: self.forms_of(each) for each in self.whole}

    def count(self, what: str, number: int) -> None:
        """Something is not drawn."""
        if number:
            self.cut[what] = self.cut.get(what, 0) + number

    def forms_of(self, value: int) -> list[int]:
        """Forms that are computed in their layout, and those that the chosen program converts to."""
        forms = self.record.forms
        own = [n for n in self.record.values[value].forms if forms[n].natural or any(w.chosen for w in forms[n].ways)]
        kept = sorted(own, key=lambda n: not any(way.chosen for way in forms[n].ways))[:MAX_FORMS]
        self.count("forms", len(own) - len(kept))
        self.count("forms that are only converted to", len(self.record.values[value].forms) - len(own))
        return kept

    def picture(self, name: str) -> Picture:
        """Tables of ways in a cluster a value, then boxes, then edges."""
        value = self.record.values[self.value]
        title = f"{value.name}: {value.type}, in {self.record.title}"
        body = Drawing.new(name, "")  # what is cut is known when all is drawn
        self.draw(body)
        note = "not drawn: " + ", ".join(f"{n} {what}" for what, n in self.cut.items()) if self.cut else ""
        link = {"URL": self.back} if self.back else {}
        graph = Drawing.new(name, f"{title}\n{note}".strip(), ranksep="0.6", nodesep="0.15", rankdir="LR", **link)
        self.cut.clear()
        self.draw(graph)
        return Picture(name, graph.source, note)

    def draw(self, graph: Drawing) -> None:
        """Everything but the title."""
        for number in self.whole:
            value = self.record.values[number]
            link = {"URL": f"{picture_of(self.record, number)}.svg"} if self.links(number) else {}
            with graph.cluster(f"v{number}", f"{shorten(value.name)}: {shorten(value.type)}", **link) as cluster:
                terms = [self.term(number, at) for at in range(len(value.terms))]
                lines = [("equal terms", INK), *((shorten(text, WIDTH), MUTED) for text in terms[:MAX_ROWS])]
                self.count("terms", len(terms) - MAX_ROWS if len(terms) > MAX_ROWS else 0)
                cluster.table(f"t{number}", rows(lines, border=FAINT))
                for form in self.forms[number]:
                    chosen = any(way.chosen for way in self.record.forms[form].ways)
                    colour = CHOSEN if chosen else FAINT
                    cluster.table(f"f{form}", rows(self.lines(self.record.forms[form]), "white", colour))
                    cluster.edge(f"t{number}", f"f{form}", style="invis")
        for number in self.boxes:
            self.box(graph, number)
        self.edges(graph)

    def links(self, number: int) -> bool:
        """Has a value other than the focus a picture of its own?"""
        return number in self.details and number != self.value

    def term(self, number: int, at: int) -> str:
        """An equal term, with the names of its operands."""
        term = self.record.values[number].terms[at]
        kids = ", ".join(self.short(kid) for kid in term.kids)
        rule = f"    by {term.rule}" if term.rule else ""
        return f"{term.op}({kids}{'; ' if kids and term.words else ''}{term.words}){rule}"

    def short(self, number: int) -> str:
        """One name of a value."""
        value = self.record.values[number]
        return value.names[0] if value.names else value.name

    def lines(self, form: Form) -> Iterator[tuple[str, str]]:
        """The layout, then the ways."""
        held = "held alike by all threads"
        if form.layout >= 0:
            layout = self.record.layouts[form.layout]
            held = f"{layout.name} in {'shared memory' if layout.shared else 'registers'}"
            held += "" if form.natural else ", as others read it: computed there or converted"
        yield held, INK
        alike: dict[str, list[Way]] = {}
        for way in self.sorted_ways(form):
            alike.setdefault(words(way), []).append(way)
        for text, ways in list(alike.items())[:MAX_ROWS]:
            yield shorten(f"{text}{self.operands(ways)}", WIDTH), colour(ways[0])
            if ways[0].reason:
                yield shorten(f"    not legal: {ways[0].reason}", WIDTH), ILLEGAL
        more = sum(map(len, list(alike.values())[MAX_ROWS:]))
        self.count("ways", more)
        if more:
            yield f"and {more} more ways", MUTED
        if form.second:
            yield shorten(form.second, WIDTH), SECOND

    def operands(self, ways: Sequence[Way]) -> str:
        """The layouts of what a way reads, or how many ways differ by them alone."""
        if len(ways) > 1:
            return f" ({len(ways)} ways, of operands in other layouts)"
        held = [self.record.forms[kid].layout for kid in ways[0].kids]
        names = [self.record.layouts[each].name for each in held if each >= 0]
        return f" of {', '.join(names)}" if names and "from L" not in ways[0].text else ""

    def sorted_ways(self, form: Form) -> Sequence[Way]:
        """Chosen, second, cheapest, not legal; without those that only give another form of the value its name."""
        ways = [way for way in form.ways if way.op != "own"]
        return sorted(ways, key=lambda way: (not way.chosen, way.runner_up is None, way.cost is None, way.cost or 0.0))

    def box(self, graph: Drawing, number: int) -> None:
        """A value without its ways."""
        value = self.record.values[number]
        made = [way for form in value.forms for way in self.record.forms[form].ways if way.chosen and way.op != "own"]
        lines = [(shorten(value.name, 40), INK), (shorten(value.type, 40), MUTED)]
        lines += [(shorten(way.text, 40), CHOSEN) for way in made[:2]] or [("the program does without it", MUTED)]
        link = {"URL": f"{picture_of(self.record, number)}.svg"} if self.links(number) else {}
        graph.table(f"v{number}", rows(lines, ground(made[0]) if made else "white"), **link)

    def node(self, form: int) -> str:
        """The node that stands for a form: its own, or the box of its value."""
        value = self.record.forms[form].value
        if value in self.forms:
            return f"f{form}" if form in self.forms[value] else ""
        return f"v{value}" if value in self.boxes else ""

    def edges(self, graph: Drawing) -> None:
        """From what is read to what reads it; those of the chosen program in its colour. Between a box and the ways
        that were not chosen is one edge, to the terms.
        """
        found: dict[tuple[str, str], bool] = {}
        for number, form in enumerate(self.record.forms):
            for way in form.ways:
                for kid in way.kids:
                    ends = self.ends(kid, number, way.chosen)
                    if all(ends) and ends[0] != ends[1] and self.drawn(form.value, kid):
                        found[ends] = found.get(ends, False) or way.chosen
        taken = {(self.value_of(tail), self.value_of(head)) for (tail, head), chosen in found.items() if chosen}
        for (tail, head), chosen in found.items():
            to_terms = "t" in (tail[0], head[0])
            if to_terms and (self.value_of(tail), self.value_of(head)) in taken:
                continue  # the edge of the chosen way says that it is an operand
            graph.edge(tail, head, **({"color": CHOSEN, "penwidth": "1.8"} if chosen else {"color": FAINT}))

    def ends(self, kid: int, form: int, chosen: bool) -> tuple[str, str]:
        """The nodes at the ends of an edge."""
        tail, head = self.node(kid), self.node(form)
        if not chosen and tail.startswith("v") and head.startswith("f"):
            return tail, f"t{self.record.forms[form].value}"
        if not chosen and head.startswith("v") and tail.startswith("f"):
            return f"t{self.record.forms[kid].value}", head
        return tail, head

    def value_of(self, node: str) -> int:
        """The value of a node of the drawing."""
        return self.record.forms[int(node[1:])].value if node.startswith("f") else int(node[1:])

    def drawn(self, value: int, kid: int) -> bool:
        """Is an edge between these worth its line? One end is drawn in detail."""
        return value in self.forms or self.record.forms[kid].value in self.forms


def words(way: Way) -> str:
    """A way in words, with its cost."""
    stages = f", {way.stages} stages" if way.stages else ""
    by = f" by {way.mechanism}" if way.mechanism and way.mechanism not in way.text else ""
    rules = f"; by {way.rule}" if way.rule else ""
    if way.cost is None:
        return f"{way.text}{by}{rules}"
    more = f", second: +{way.runner_up:g}" if way.runner_up is not None else ""
    return f"{'✓ ' if way.chosen else ''}{way.text}{by}{stages}, {cost(way)}{more}{rules}"


def colour(way: Way) -> str:
    """Of its text."""
    if way.chosen:
        return CHOSEN
    if way.cost is None:
        return ILLEGAL
    return SECOND if way.runner_up is not None else MUTED
