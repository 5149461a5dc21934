"""Names of the source as PTX identifiers.

A name that is valid in PTX is kept. Any other becomes `tile$` and its UTF-8 bytes, with letters, digits and underscores
unchanged and all others as `$` and two hexadecimal digits: the mapping is injective, and no part of a name can be read
as anything else. Source: PTX ISA, identifiers; ptxas 13.5 also rejects `_` and WARP_SZ.
"""

from __future__ import annotations

import re

MANGLED = "tile$"
"""What mangled names start with; a source name with this prefix is mangled too."""
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|_[A-Za-z0-9_$]+")
_OURS = re.compile(
    r"(?:tile|literal|text|maps|slots)\$.*|.*_param_[0-9]+|dynamic_smem|_*assertfail.*|vprintf.*|__cuda_.*|free(_address)?"
    r"|malloc_(bytes|alignment|result)|WARP_SZ"
)
"""Names that this compiler gives, functions that it calls, and the predefined constant (PTX ISA, WARP_SZ)."""

_ITSELF = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


def symbol(name: str) -> str:
    """The PTX identifier for a name."""
    if _PLAIN.fullmatch(name) and not _OURS.fullmatch(name):
        return name
    data = name.encode(errors="surrogatepass")
    return MANGLED + "".join(chr(b) if b in _ITSELF else f"${b:02X}" for b in data)


def name_of(what: str, data: bytes) -> str:
    """A name for a compiler-generated array, derived from its bytes: kernels of one PTX file may declare the same
    array.
    """
    from hashlib import sha256  # 3 ms, for kernels that have one

    return f"{what}${sha256(data).hexdigest()[:16]}"
