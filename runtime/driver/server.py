"""The server: a Unix socket, one thread and one device for each process that connects."""

from __future__ import annotations

import os
import secrets
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from ptxsim import SimulatorError
from runtime.driver.answers import Options
from runtime.driver.device import Device, print_at_once
from runtime.driver.errors import INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, DriverError
from runtime.driver.functions import functions
from runtime.driver.report import Summary

_HEADER = struct.Struct("<IQ")
_REPLY = struct.Struct("<iQ")
_PATIENCE = 5
"""Seconds for what a program left when it ended; a kernel that still runs goes with its program."""
_PEER = struct.Struct("3i")
"""struct ucred of unix(7): process, user, group."""


class Server:
    """Listens while it is open. summary: what all programs did that connected."""

    def __init__(self, options: Options, output: Callable[[str], object] = print_at_once) -> None:
        self.summary = Summary()
        self._options = options
        self._output = output
        self._lock = threading.Lock()
        self._name = f"tilesat-{os.getpid()}-{secrets.token_hex(8)}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connections: list[tuple[socket.socket, threading.Thread]] = []

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs in its environment to find this server."""
        return {"TILESAT_DRIVER": self._name}

    def __enter__(self) -> Server:
        self._socket.bind("\0" + self._name)
        self._socket.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        for connection, thread in self._connections:
            with suppress(OSError):  # the program has closed it
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(_PATIENCE if error is None else 0)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
            if _PEER.unpack(credentials)[1] != os.getuid():
                connection.close()
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._connections.append((connection, thread))
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        device = Device(self._options, self.summary, self._output)
        with connection:
            while (header := _receive(connection, _HEADER.size)) is not None:
                number, size = _HEADER.unpack(header)
                payload = _receive(connection, size)
                if payload is None:
                    return
                with self._lock:
                    try:
                        status, result = self._call(device, number, payload)
                    except BaseException as error:  # a defect of ours: the report must not be clean
                        self.summary.add_call("defect of tilesat", repr(error))
                        raise
                try:
                    connection.sendall(_REPLY.pack(status, len(result)) + result)
                except OSError:
                    return  # the program has ended

    def _call(self, device: Device, number: int, payload: memoryview) -> tuple[int, bytes]:
        function = functions()[number]
        name = function.names[0]
        method: Callable[..., tuple[int | float | bytes, ...] | None] = getattr(device, name)
        try:
            return 0, function.encode(method(*function.decode(payload)) or ())
        except DriverError as error:
            if error.message:
                refused = error.status == NOT_SUPPORTED
                self.summary.add_call(_title(name), error.message, refused)
            return error.status, function.encode_log(error.log)
        except SimulatorError as error:
            self.summary.add_call(_title(name), str(error))
            return INVALID_VALUE, b""
        except MemoryError:
            return OUT_OF_MEMORY, b""


_TITLES = {
    "sim_load": "module",
    "sim_launch": "launch",
    "sim_write": "copy to the device",
    "sim_read": "copy from the device",
    "sim_copy": "copy on the device",
    "sim_fill": "memset",
    "sim_release": "free",
    "sim_allocate": "allocation",
    "sim_refuse": "call",
    "sim_announce": "fat binary",
}


def _title(name: str) -> str:
    return _TITLES.get(name, name)


def _receive(connection: socket.socket, size: int) -> memoryview | None:
    """So many bytes; None where the other side has closed."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        try:
            count = connection.recv_into(view)
        except OSError:
            return None
        if count == 0:
            return None
        view = view[count:]
    return memoryview(data)
