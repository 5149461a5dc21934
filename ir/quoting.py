"""Names and strings in quotes as MLIR writes them: escapes, and when a name needs none."""

from __future__ import annotations

import re

_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)
_BARE = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)
_NAMED_ESCAPES = {b"n": b"\n", b"t": b"\t"}


def unescape(quoted: str) -> str:
    """The content of a quoted string: MLIR's \\n, \\t, \\\\, \\" and two hexadecimal digits a byte."""

    def replace(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 16)]) if len(code) == 2 else _NAMED_ESCAPES.get(code, code)

    return _ESCAPE.sub(replace, quoted[1:-1].encode()).decode(errors="replace")


def escape(text: str) -> str:
    """`text` quoted as MLIR prints it: every byte that is not plain ASCII as two hexadecimal digits."""
    body = "".join(
        "\\\\" if byte == 0x5C else chr(byte) if 0x20 <= byte < 0x7F and byte != 0x22 else f"\\{byte:02X}"
        for byte in text.encode()
    )
    return f'"{body}"'


def is_bare(name: str) -> bool:
    """Whether a name is a plain identifier, which is written without quotes."""
    return _BARE.fullmatch(name) is not None


def key_text(name: str) -> str:
    """A key of a dictionary as printed: quoted unless it is a plain identifier."""
    return name if is_bare(name) else escape(name)


def symbol_text(name: str) -> str:
    """A symbol as printed: quoted unless it is a plain identifier."""
    return f"@{name}" if is_bare(name) else f"@{escape(name)}"
