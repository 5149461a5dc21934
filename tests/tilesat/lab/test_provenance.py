"""`tilesat why`, `--provenance`, `--explain --json`."""

import json
from pathlib import Path

import pytest

import tilesat
from egraph.provenance import Recorder
from tilesat.cli import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
NEGATED, VECADD = str(EXAMPLES / "gemm_negated.mlir"), str(EXAMPLES / "vecadd_view.mlir")


@pytest.mark.in_turn
def test_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", NEGATED, "--provenance", "--emit", "egraph"]) == 0
    done = capsys.readouterr()
    assert "provenance: " in done.err
    assert "not explained" not in done.err
    nodes = [line for line in done.out.splitlines() if line.startswith("  mmaf(")]
    assert nodes[0].endswith("; in the source")
    assert "; by sink-negf/mma-to-rhs in iteration " in nodes[1]
    assert "from (mmaf %a_negated" in nodes[1]
    paragraph = next(text for text in done.out.split("\n\n") if nodes[0] in text)
    cls = paragraph.partition(":")[0]
    assert main(["why", NEGATED, f"{cls}.0", f"{cls}.1"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("provenance: ")
    steps, checked = (int(word) for word in out.splitlines()[0].split() if word.isdigit())
    assert steps == checked >= 1
    assert "sink-negf/mma-to-rhs (iteration" in out


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("left", "right", "message"),
    [("%nope", "%a", "there is no term '%nope'"), ("c99999", "%a", "there is no term 'c99999'"),
     ("(addf %a_tile %b_tile)", "%a", "there is no term '(addf %a_tile %b_tile)'"),
     ("(sum %a_tile)", "%a", "there is no term '(sum %a_tile)'"),
     ("%a", "%b", "%a and %b are not equal in the e-graph")],
)  # fmt: skip
def test_why_not(left: str, right: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", VECADD, left, right]) == 1
    assert message in capsys.readouterr().err


def test_in_python() -> None:
    plain, traced = (tilesat.compile(VECADD, provenance=wanted) for wanted in (False, True))
    assert traced.ptx == plain.ptx
    node = next(each for each in traced.egraph.frozen.nodes if each.op == "p.addf")
    origin = traced.provenance.origin(node)
    assert origin is not None
    assert (origin.rule, origin.phase, origin.matched[0][:5]) == ("place/addf", "placement", "(addf")
    with pytest.raises(tilesat.TileError, match="provenance was not recorded"):
        assert plain.provenance


@pytest.mark.in_turn
def test_terms_as_chains_have_them(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["why", NEGATED, "(mmaf %a_negated %b_transposed %acc 0)", "(mmaf %a_scaled (negf %b_transposed) %acc 0)"]
    assert main(words) == 0
    assert "1 step, 1 of them checked" in capsys.readouterr().out


def test_explain_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", VECADD, "--explain", "--json"]) == 0
    found = json.loads(capsys.readouterr().err)
    assert sum(each["cost"] for each in found["nodes"]) == pytest.approx(found["extraction"]["cost"])
    for each in found["nodes"]:
        assert sum(each["parts"].values()) == pytest.approx(each["cost"])
    assert {"rule", "matches", "seconds"} <= found["saturation"]["rules"][0].keys()
    assert main(["compile", VECADD, "--json"]) == 2
    assert capsys.readouterr().err == "tilesat: error: --json selects the form of --explain: pass both\n"


@pytest.mark.in_turn
@pytest.mark.parametrize(("helped", "least", "most"), [(True, 0, 2), (False, 10, 20)])
def test_matches_of_a_class_that_their_own_iteration_unites(
    helped: bool, least: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`x * 1 = x` where the class of the product is the older one: the engine calls both sides by it."""
    if not helped:
        monkeypatch.setattr(Recorder, "_united", lambda self, engine, left, *rest: left)
    source = Path(__file__).resolve().parents[2] / "data" / "programs" / "topk.tileirbc"
    assert least <= tilesat.compile(source, "sm_90a", provenance=True).provenance.recorder.missed <= most
