"""Golden files: the expected text of a level, kept under tests/data/golden and renewed by `--bless`."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tilesat.testing.golden import check as compare

GOLDEN = Path(__file__).parent / "data" / "golden"


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
