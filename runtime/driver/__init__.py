"""The simulator as a stand-in for the CUDA driver and runtime.

A C library (`c/`, compiled at first use) exports the driver API and the runtime API and passes each call over a Unix
socket to a server in Python, whose device is `ptxsim`. `functions` declares every call once: C stubs and
the server's decoding derive from it. See docs/sanitize.md and docs/decisions/0004-the-driver-is-a-socket.md.
"""

from runtime.driver.build import BuildError, build
from runtime.driver.server import Server

__all__ = ["BuildError", "Server", "build"]
