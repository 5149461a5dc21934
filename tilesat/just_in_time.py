"""`tilesat.jit`: a kernel that is called with arrays, compiled at its first call with arguments of each kind.

    @tilesat.jit(target="sm_90a")
    @ct.kernel
    def scale(x, y, factor, n: ct.Constant[int]):
        ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)

    scale[x.size // 64](x, y, 1.5, 64)

What kind an argument is of is what cuTile specialises for: element type, rank, strides of 1, divisors of sizes, strides
and addresses, constants. A program in text takes what its entry takes, and is compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Unpack, overload

from ir.core import TileError
from tilesat import cutile_kernels
from tilesat.compiler import DEFAULT_TARGET, CachedOptions, CompileOptions, compile
from tilesat.kernel import Kernel
from tilesat.on_card import Launches, handle_of, key_of, stream_of

if TYPE_CHECKING:
    from ptxsim import Report


class Jit:
    """A kernel that is compiled as it is called; safe to call from several threads."""

    def __init__(
        self,
        source: object,
        target: str | None,
        on: str | None,
        check: bool,
        hazards: bool | str | None,
        options: CachedOptions,
    ):
        self.source, self.target, self.on, self.check, self.hazards = source, target, on, check, hazards
        self.options = options
        self.kernels: dict[Hashable, Kernel] = {}
        """Those compiled so far, by target and by what their calls take."""
        self._lock, self._launches = Lock(), Launches()

    def __repr__(self) -> str:
        """One line."""
        name = cutile_kernels.name_of(self.source) if cutile_kernels.is_kernel(self.source) else "program"
        return f"<Jit @{name}: {len(self.kernels)} compiled>"

    def __getitem__(self, grid: int | Sequence[int]) -> Callable[..., Report | None]:
        """A function that launches over `grid` tile blocks, compiling where it must; it takes what the kernel's Python
        function takes, in order or by name. Raises what `Kernel.run` and `tilesat.compile` do.
        """
        return lambda *args, **named: self.launch(grid, args, named)

    def kernel(self, *args: object, **named: object) -> Kernel:
        """The kernel for such arguments, which are not written: to look at its PTX, cost and report."""
        from tilesat.launching import card_of, place_of

        on = self.on or place_of(args, named)
        target = self.target or target_of(on, card_of(args, named) if on == "cuda" else 0)
        source = self.source
        if not cutile_kernels.is_kernel(source):
            return self._compiled(target, lambda: compile(source, target, **self.options))
        from tilesat.calling import bound, missing
        from tilesat.specialise import constraints_of, specialised, written_at

        name, location = cutile_kernels.name_of(source), written_at(source)
        parameters = cutile_kernels.function_of(source).pysig.parameters
        values = bound(list(parameters), args, named, name, location)
        for each, parameter in parameters.items():
            if each not in values and parameter.default is parameter.empty:
                missing(each, name, location)
            values.setdefault(each, parameter.default)
        calling = specialised(source, values)
        return self._compiled(
            (target, calling), lambda: compile(source, target, signature=constraints_of(calling), **self.options)
        )

    def _compiled(self, key: Hashable, made: Callable[[], Kernel]) -> Kernel:
        """The kernel of a key, made at most once."""
        with self._lock:
            if key not in self.kernels:
                self.kernels[key] = made()
            return self.kernels[key]

    def launch(
        self,
        grid: int | Sequence[int],
        args: Sequence[object],
        named: Mapping[str, object],
        output: Callable[[str, str], object] | None = None,
        stream: object = None,
    ) -> Report | None:
        """As `self[grid](*args, **named)`; `output` as in `Kernel.launched`. `stream`: of a card, any library's; by
        default PyTorch's current one for its tensors, else the default one.
        """
        handle = stream_of((*args, *named.values())) if stream is None else handle_of(stream)
        key = key_of(grid, handle, args, named)
        if self._launches.again(key):
            return None
        from tilesat.grid import as_grid
        from tilesat.launching import only_traced, place_of, prepared

        if only_traced(args, named):
            return None
        blocks, on = as_grid(grid), self.on or place_of(args, named)
        kernel = self.kernel(*args, **named)
        launch = prepared(kernel.entry, kernel.calling, args, named, on, whole=True, stream=handle)
        card = partial(self._launches.first, key, handle)
        return kernel.launched(blocks, launch, on, self.hazards, self.check, output=output, card=card)


class JitOptions(CachedOptions, total=False):
    """The options of `jit` beside where it runs."""

    check: bool
    hazards: bool | str | None


@overload
def jit(
    source: None = None, /, *, target: str | None = None, on: str | None = None, **options: Unpack[JitOptions]
) -> Callable[[object], Jit]: ...
@overload
def jit(
    source: object, /, *, target: str | None = None, on: str | None = None, **options: Unpack[JitOptions]
) -> Jit: ...
def jit(
    source: object = None,
    /,
    *,
    target: str | None = None,
    on: str | None = None,
    check: bool = False,
    hazards: bool | str | None = None,
    cache: bool = True,
    **options: Unpack[CompileOptions],
) -> Jit | Callable[[object], Jit]:
    """A `Jit` of a cuTile kernel, or of Tile IR as `tilesat.compile` takes it; without one, a decorator.

    `target`: by default that of the card, where one runs it, else sm_80. `on`: sim, ref or cuda; by default where the
    arrays are. `check`, `hazards` as in `Kernel.run`; `options` as in `tilesat.compile`. `cache`: kernels are kept on
    disk for other processes (`tilesat.cache`).
    """
    if "signature" in options:
        raise TileError("jit: the arguments determine the signature: use tilesat.compile to pass one")
    cached: CachedOptions = {**options, "cache": cache}
    make = partial(Jit, target=target, on=on, check=check, hazards=hazards, options=cached)
    return make if source is None else make(source)


def target_of(on: str, card: int = 0) -> str:
    """The target of what runs it: a card by its number."""
    if on != "cuda":
        return DEFAULT_TARGET
    from lowering.targets import ALL_TARGETS
    from runtime.cuda import shared

    plain = shared(card).architecture
    found = [name for name in ALL_TARGETS if name in (f"{plain}a", plain)]
    if not found:
        raise TileError(f"jit: the card is {plain}, which is not a target", hint="give target=")
    return sorted(found, key=len)[-1]
