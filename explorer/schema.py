"""Typed dataclasses from untrusted JSON and back: types, lengths and finite numbers are checked by the class's own hints.

A record class says what it holds in its annotations, and what must hold between its fields in `__post_init__`; nothing is
said twice. Unknown fields are ignored, so that later versions may add some.
"""

from __future__ import annotations

import dataclasses
import json
import reprlib
import types
import typing
from enum import StrEnum
from functools import cache
from typing import Any, NoReturn

from explorer.errors import UserError
from explorer.messages import Message

# Far above any real run, far below what exhausts memory or loses digits on the way through a browser.
MAX_ITEMS = 1_000_000  # of one list or table
MAX_CONTAINERS = 2_000_000  # lists and objects of one file: empty ones take twenty times the room of their text
MAX_BYTES = 64 * 2**10  # of one bytes value
MAX_INT = 2**53
MAX_FLOAT = 1e300

OMIT_NONE = {"omit": None}  # metadata of a field that is not written where it is None
OMIT_EMPTY = {"omit": ()}  # the same of an empty list


class SchemaError(UserError):
    """Data that does not have the promised shape; the message says where and what was expected."""


def parse_json(text: str | bytes) -> Any:
    """Parse JSON strictly: NaN, infinities, runaway nesting and floods of lists are refused with a SchemaError."""
    if isinstance(text, str):
        text = text.removeprefix("\ufeff")  # a mark of some editors, which bytes may have as well
    brackets = ("[", "{") if isinstance(text, str) else (b"[", b"{")
    if sum(text.count(bracket) for bracket in brackets) > MAX_CONTAINERS:
        raise SchemaError("record.containers", limit=f"{MAX_CONTAINERS:,}")

    def refuse(constant: str) -> None:
        raise SchemaError("record.constant", constant=constant)

    try:
        return json.loads(text, parse_constant=refuse)
    except SchemaError:
        raise
    except UnicodeDecodeError:
        raise SchemaError("json.wrong", reason=Message("json.not_text")) from None
    except RecursionError:
        raise SchemaError("json.wrong", reason=Message("json.nested")) from None
    except ValueError as error:  # digit limits, too
        raise SchemaError("json.wrong", reason=error) from None


def read(kind: Any, data: Any, path: str = "") -> Any:
    """Build a value of annotated type `kind` from parsed JSON, or raise SchemaError naming the place.

    bytes are a text, or {"hex": "e2 9c"} where they are not whole characters; integer keys of a dict are text in JSON.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        (present,) = (argument for argument in arguments if argument is not types.NoneType)
        return None if data is None else read(present, data, path)
    if origin is typing.Literal:
        if not isinstance(data, str) or data not in arguments:
            _fail(path, f"one of {', '.join(arguments)}", data)
        return data
    if origin is tuple:
        _check_size(path, data, list)
        return tuple(read(arguments[0], item, f"{path}[{index}]") for index, item in enumerate(data))
    if origin is dict:
        _check_size(path, data, dict)
        return {
            _key(arguments[0], key, path): read(arguments[1], item, f"{path}.{key[:40]}") for key, item in data.items()
        }
    if dataclasses.is_dataclass(kind):
        return _read_record(kind, data, path)
    if issubclass(kind, StrEnum):
        return _read_enum(kind, data, path)
    return _READERS[kind](data, path)


def write(value: Any) -> Any:
    """The JSON form of a record: the inverse of `read`."""
    if isinstance(value, tuple):
        return [write(item) for item in value]
    if isinstance(value, dict):
        return {str(key): write(item) for key, item in value.items()}
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return {"hex": value.hex(" ")}
    if dataclasses.is_dataclass(value):
        present = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {field.name: write(item) for field, item in present if item != field.metadata.get("omit", _NEVER)}
    return value


_NEVER = object()


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _read_record(kind: Any, data: Any, path: str) -> Any:
    if not isinstance(data, dict):
        _fail(path, "an object", data)
    hints, values = _hints(kind), {}
    for field in dataclasses.fields(kind):
        place = f"{path}.{field.name}" if path else field.name
        if field.name in data:
            values[field.name] = read(hints[field.name], data[field.name], place)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise SchemaError("record.missing", place=place)
    try:
        return kind(**values)
    except ValueError as error:  # the record's own check of its fields
        if path:
            raise SchemaError("record.at", place=path, reason=error) from None
        raise SchemaError("record.inconsistent", detail=error) from None


def _read_float(data: Any, path: str) -> float:
    number = isinstance(data, (int, float)) and not isinstance(data, bool)
    if not number or not abs(data) <= MAX_FLOAT:
        _fail(path, "a finite number", data)
    return float(data)


def _read_int(data: Any, path: str) -> int:
    if not isinstance(data, int) or isinstance(data, bool) or abs(data) > MAX_INT:
        _fail(path, "a whole number", data)
    return data


def _read_bool(data: Any, path: str) -> bool:
    if not isinstance(data, bool):
        _fail(path, "true or false", data)
    return data


def _read_str(data: Any, path: str) -> str:
    if not isinstance(data, str):
        _fail(path, "a text", data)
    try:
        data.encode()
    except UnicodeEncodeError:  # a lone surrogate: JSON can spell it, nothing can write it again
        _fail(path, "a text of whole characters", data)
    return data


def _read_bytes(data: Any, path: str) -> bytes:
    try:
        raw = data.encode() if isinstance(data, str) else bytes.fromhex(data["hex"])
    except (ValueError, TypeError, KeyError):  # a lone surrogate, bad digits, or another shape
        _fail(path, 'a text or {"hex": ...}', data)
    if len(raw) > MAX_BYTES:
        raise SchemaError("record.bytes", place=path, limit=MAX_BYTES)
    return raw


def _read_enum(kind: Any, data: Any, path: str) -> Any:
    if not isinstance(data, str) or data not in set(kind):
        _fail(path, f"one of {', '.join(kind)}", data)
    return kind(data)


_READERS = {float: _read_float, int: _read_int, bool: _read_bool, str: _read_str, bytes: _read_bytes}


def _key(kind: type, key: str, path: str) -> Any:
    if kind is str:
        return key
    if not (key.isascii() and key.isdigit() and len(key) < 16):
        raise SchemaError("record.key", place=path, key=key[:40])
    return int(key)


def _check_size(path: str, data: Any, kind: type) -> None:
    if not isinstance(data, kind):
        _fail(path, "a list" if kind is list else "an object", data)
    if len(data) > MAX_ITEMS:
        raise SchemaError("record.entries", place=path, count=len(data), limit=MAX_ITEMS)


def _fail(path: str, expected: str, data: Any) -> NoReturn:
    raise SchemaError(
        "record.type", place=path or Message("record.file"), expected=expected, value=reprlib.repr(data)[:60]
    )
