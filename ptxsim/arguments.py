"""Converts the arguments of a launch to the bytes of its parameters."""

import struct
from collections.abc import Sequence
from typing import SupportsFloat, SupportsIndex, TypeAlias

from ptxsim.declarations import constant_bytes
from ptxsim.errors import LaunchError
from ptxsim.memory import Address
from ptxsim.program import Entry, Parameter
from ptxsim.tensormap import MAP_ALIGNMENT, MAP_BYTES, TensorMap

Argument: TypeAlias = int | float | bytes | TensorMap | SupportsIndex | SupportsFloat


def parameter_bytes(kernel: Entry) -> int:
    """The size of the parameter buffer."""
    return max((parameter.offset + parameter.size for parameter in kernel.parameters), default=0)


def bind_arguments(kernel: Entry, args: Sequence[Argument]) -> bytes:
    """The parameter buffer of a launch. Raises LaunchError for arguments that do not fit the parameters."""
    if len(args) != len(kernel.parameters):
        names = ", ".join(parameter.name for parameter in kernel.parameters)
        wanted = f"{len(kernel.parameters)} argument{'s' * (len(kernel.parameters) != 1)} ({names})"
        raise LaunchError(
            f"entry `{kernel.name}` expects {wanted}, got {len(args)}",
            kernel.line,
        )
    result = bytearray(parameter_bytes(kernel))
    for parameter, value in zip(kernel.parameters, args, strict=True):
        result[parameter.offset : parameter.offset + parameter.size] = _argument_bytes(kernel, parameter, value)
    return bytes(result)


def _argument_bytes(kernel: Entry, parameter: Parameter, value: Argument) -> bytes:
    type_ = parameter.type

    def wrong(reason: str) -> LaunchError:
        return LaunchError(f"argument for parameter `{parameter.name}` (.{type_.name}): {reason}", kernel.line)

    if isinstance(value, TensorMap):
        if not parameter.is_array or parameter.size != MAP_BYTES or parameter.offset % MAP_ALIGNMENT:
            raise wrong(f"a tensor map needs `.param .align {MAP_ALIGNMENT} .b8 name[{MAP_BYTES}]`")
        return value.encode()
    if parameter.is_array or isinstance(value, bytes | bytearray):
        if not isinstance(value, bytes | bytearray) or len(value) != parameter.size:
            raise wrong(f"expected {parameter.size} bytes")
        return bytes(value)
    if isinstance(value, Address) and type_.bits != 64:
        raise wrong("an address needs a 64-bit parameter")
    if isinstance(value, SupportsIndex):
        number = value.__index__()
        if type_.kind == "float":
            return constant_bytes(number, type_)
        low, high = -(1 << (type_.bits - 1)), (1 << type_.bits) - 1
        if not low <= number <= high or (type_.kind == "signed" and number > high >> 1):
            raise wrong(f"{number} does not fit")
        return constant_bytes(number, type_)
    number = float(value)
    if type_.kind == "float":
        return constant_bytes(number, type_)
    if type_.kind == "bits" and type_.bits in (32, 64):
        return struct.pack("<f" if type_.bits == 32 else "<d", number)
    raise wrong(f"{number} is a float")
