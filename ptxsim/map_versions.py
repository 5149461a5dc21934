"""Tensor maps in global memory that a kernel changed, and who may use the new contents.

A changed map is published by tensormap.cp_fenceproxy or fence.proxy.tensormap::generic.release, and a CTA that uses it
must have acquired it with fence.proxy.tensormap::generic.acquire. Source: PTX ISA, "Proxies", "tensormap.replace".
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Version:
    """A changed map: number of its last change, whether that was released, and the change that each CTA acquired."""

    number: int = 0
    is_released: bool = False
    acquired: dict[int, int] = field(default_factory=dict[int, int])


class MapVersions:
    """The changed maps of a launch, by global address."""

    def __init__(self) -> None:
        self._versions: dict[int, Version] = {}

    def start(self) -> None:
        """A batch begins: it has not seen earlier CTAs' changes to maps."""
        self._versions.clear()

    @property
    def are_changed(self) -> bool:
        """Whether any map was written."""
        return bool(self._versions)

    def changed(self, address: int, is_released: bool) -> None:
        """A map was written."""
        version = self._versions.setdefault(address, Version())
        version.number += 1
        version.is_released = is_released

    def released(self) -> None:
        """fence.proxy.tensormap::generic.release."""
        for version in self._versions.values():
            version.is_released = True

    def acquired(self, address: int, cta: int) -> None:
        """fence.proxy.tensormap::generic.acquire by a thread of a CTA."""
        version = self._versions.get(address)
        if version is not None and version.is_released:
            version.acquired[cta] = version.number

    def problem(self, address: int, cta: int) -> str | None:
        """What is missing before a CTA may use a map; None if nothing is."""
        version = self._versions.get(address)
        if version is None or version.acquired.get(cta) == version.number:
            return None
        if not version.is_released:
            return "was changed and not released; use tensormap.cp_fenceproxy or fence.proxy.tensormap::generic.release"
        return "was changed; this CTA needs fence.proxy.tensormap::generic.acquire on it first"
