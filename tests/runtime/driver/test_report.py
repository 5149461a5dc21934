"""The report of `tilesat sanitize`."""

from ptxsim import LaunchError
from ptxsim.kinds import Hazard, Kind
from runtime.driver.report import Summary


def hazard(kind: Kind, line: int) -> Hazard:
    return Hazard(kind, line, "ld.shared.u32 %r1,\n [%r2];", "thread (0,0,0)", f"said of {line}", 2, f"k.cu:{line}")


def test_places_beyond_the_limit_are_counted() -> None:
    summary = Summary(launches=3)
    summary.add_hazards("k", [*(hazard(Kind.RACE, line) for line in range(1, 6)), hazard(Kind.DEADLOCK, 7)])
    summary.add_hazards("k", [hazard(Kind.RACE, 5)])
    whole, cut = summary.text(), summary.text(4)
    assert whole.count("race: said of") == 5
    assert "race: said of 5\n=========     in k at k.cu:5, PTX line 5\n=========     ld.shared.u32 %r1, [%r2];" in whole
    assert "first in launch 3, 4 times in all" in whole
    assert cut.count("race: said of") == 4
    assert "2 more places are omitted; --report OUT lists them all\n========= places: 1 deadlock, 5 race\n" in cut
    assert cut.endswith("SUMMARY: 14 hazards at 6 places in 3 launches\n")


def test_what_is_refused_is_no_error() -> None:
    summary = Summary(launches=1)
    assert summary.is_clean
    summary.add_error(
        "k", "kernel is not simulated", LaunchError("why", 2, "x"), '.file 1 "k.cu"\n.loc 1 8 1\n x;', True
    )
    summary.add_call("call", "cuGraphCreate is not simulated", refused=True)
    assert not summary.is_clean
    assert "refused: kernel is not simulated: why\n" in summary.text()
    assert summary.text().endswith("SUMMARY: 0 hazards, 2 refused in 1 launch\n")
