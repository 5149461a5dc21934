"""Where the e-nodes of a kernel come from, and why values are equal, in the names of its source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from egraph.rule import text
from egraph.sexpr import Atom, Sexpr, read
from egraph.why import Provenance
from ir.core import TileError
from lowering.egraph_text import value_names
from lowering.selection import Selection

_NODE = re.compile(r"([cp])(\d+)(?:\.(\d+))?")


def provenance_of(selection: Selection) -> Provenance:
    """What was noted while rules ran. Raises TileError where nothing was."""
    saturated = selection.saturated
    if saturated.recorder is None:
        raise TileError("provenance was not recorded", hint="compile(..., provenance=True), --provenance")
    names = value_names(saturated.program)
    return Provenance(saturated.recorder, saturated.frozen, saturated.source.commands, names)


def term_of(provenance: Provenance, spec: str) -> int:
    """The term that a user names: `%value` of the source; an e-node as `--emit egraph` lists it (`c12.0` is the first
    of class c12, `c12` as well); or a term as chains have it, `(negf %x)`. Raises TileError.
    """
    if spec.startswith("("):
        return _written(provenance, read(spec, "<term>")[0])
    name = spec if spec.startswith("%") else f"%{spec}"
    for number, known in provenance.names.items():
        if known == name and (term := provenance.recorder.terms.lookup("N", (number,))) is not None:
            return term
    match = _NODE.fullmatch(spec)
    nodes = provenance.frozen.by_class.get(int(match[2]), []) if match else []
    at = int(match[3] or 0) if match else 0
    if at >= len(nodes):
        hint = "name a value of the source, such as %acc, or a node of --emit egraph, such as c12.0"
        raise TileError(f"there is no term {spec!r}", hint=hint)
    term = provenance.term(nodes[at])
    if term is None:
        raise TileError(f"the origin of {spec} was not recorded")
    return term


def _written(provenance: Provenance, form: Sexpr) -> int:
    """A term of the e-graph by its text: operands are terms, attributes and types their numbers."""
    if isinstance(form, Atom):
        return term_of(provenance, form.text)
    terms = provenance.recorder.terms
    places = terms.places.get(form.head)
    found = None
    if places is not None:
        args: list[int] = []
        for at, item in enumerate(form.items[1:]):
            number = isinstance(item, Atom) and item.text.lstrip("-").isdigit()
            args.append(int(text(item)) if number and at not in places else _written(provenance, item))
        if len(args) == len(provenance.recorder.known[form.head].inputs):
            found = terms.lookup(form.head, tuple(args))
    if found is None:
        raise TileError(f"there is no term {text(form)!r}", hint="tilesat why prints terms as they are written")
    return found


def chain(provenance: Provenance, left: str, right: str) -> Iterator[str]:
    """Why two terms are equal, as lines. Raises TileError where they are not known to be."""
    a, b = term_of(provenance, left), term_of(provenance, right)
    try:
        steps = provenance.why(a, b)
    except KeyError:
        raise TileError(
            f"{left} and {right} are not equal in the e-graph", hint="--emit egraph shows classes"
        ) from None
    checked = sum(step.checked is True for step in steps)
    yield f"{left} = {right}: {len(steps)} step{'' if len(steps) == 1 else 's'}, {checked} of them checked"
    for step in steps:
        yield from str(step).splitlines()
