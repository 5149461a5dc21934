"""Golden files: the expected text of a level, kept under tests/data/golden and renewed by `--bless`. Which parameters
run in `make test`, and what tests leave behind: no kernel in the user's cache, none in memory.
"""

import gc
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import pytest

from tests.commit import turn
from tilesat.testing.golden import check as compare

# Before NumPy is loaded, and in the environment that xdist's workers inherit: BLAS threads spin while they wait for the
# next small product: a quarter of the CPU time of skewed orders of tensor agents, on two loaded cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

GOLDEN = Path(__file__).parent / "data" / "golden"


GOLDEN_RATIO = 0.618034

TURNS = 5
"""Of the tests that are `in_turn`, `make test` runs one in so many."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test that is `sampled(n)` one in n parameters runs in `make test`, of tests that are `in_turn` one in
    `TURNS`, others with each commit; the rest are slow.

    The n-th multiples of the golden ratio are spread evenly, whatever period the parameters have: each target and each
    case of a product of both is among those taken.
    """
    seen = Counter[str]()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None:
            function = item.nodeid.partition("[")[0]
            if seen[function] * GOLDEN_RATIO % 1 >= 1 / mark.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[function] += 1
    now = turn(TURNS)
    for item in items:
        if item.get_closest_marker("in_turn") and crc32(item.nodeid.partition("[")[0].encode()) % TURNS != now:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Search for garbage seldom, and not in what the tests themselves consist of.

    The search goes through all that lives, 22,000 tests and the kernels that a module shares, whenever a quarter is
    new: a sixth of the time of all tests. Now 2 million objects are made between two of them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


@pytest.fixture(scope="module", autouse=True)
def shared_in_one_module(request: pytest.FixtureRequest) -> Iterator[None]:
    """What the tests of a module keep in a `functools.cache` is let go behind the last of them: memory, and what the
    search for garbage goes through.
    """
    yield
    for made in vars(request.module).values():
        if hasattr(made, "cache_clear") and made.__module__.startswith("tests."):
            made.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Kernels that the user has kept are not found by tests, which leave none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILESAT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """golden(name, text): `text` is what the file of that name holds."""

    def check(name: str, text: str) -> None:
        compare(GOLDEN / name, text, request.config.getoption("--bless"), "the test")

    return check
