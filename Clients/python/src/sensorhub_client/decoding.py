"""Makes dataclasses from JSON objects, by the types and the ``key`` metadata of their fields."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from .errors import ProtocolError
from .models import Record

R = TypeVar("R", bound=Record)
_Convert = Callable[[Any, str], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """How one key of a JSON object becomes a field."""

    key: str
    field: str
    convert: _Convert
    is_required: bool
    type: Any


def decode(cls: type[R], data: object, path: str = "") -> R:
    """Makes a ``cls`` from a JSON object.

    Unknown keys go into ``extra``, except ``class``, because the type of the result already states it.

    :raises ProtocolError: if a required key is missing, or a value has the wrong type
    """
    if not isinstance(data, dict):
        raise _nonsense(path or cls.__name__, "an object", data)
    known = members(cls)
    values: dict[str, Any] = {}
    extra = {key: value for key, value in data.items() if key not in known and key != "class"}
    if extra:
        values["extra"] = extra
    for key, member in known.items():
        value = data.get(key)
        if value is not None:
            values[member.field] = member.convert(value, f"{path}.{key}" if path else key)
        elif member.is_required:
            raise ProtocolError(f"the hub's {cls.__name__} lacks '{path + '.' if path else ''}{key}'", _VERSIONS)
    return cls(**values)


_VERSIONS = "check that this is a SensorHub, and as new as this client"


_MEMBERS: dict[type[Record], Mapping[str, Member]] = {}


def members(cls: type[Record]) -> Mapping[str, Member]:
    """The fields of a class by the keys that they have in JSON."""
    found = _MEMBERS.get(cls)
    if found is None:
        found = _MEMBERS[cls] = _read(cls)
    return found


def _read(cls: type[Record]) -> Mapping[str, Member]:
    hints = typing.get_type_hints(cls)
    found = {}
    for field in dataclasses.fields(cls):
        if field.name == "extra":
            continue
        key = field.metadata.get("key") or field.name
        is_required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        hint = hints[field.name]
        found[key] = Member(key, field.name, _converter(hint), is_required, hint)
    return found


def _converter(hint: Any) -> _Convert:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (hint,) = [argument for argument in arguments if argument is not type(None)]
        return _converter(hint)
    if origin is tuple:
        element = _converter(arguments[0])
        return lambda value, path: tuple(element(one, path) for one in _checked(list, value, path))
    if origin is Mapping:
        element = _converter(arguments[1])
        return lambda value, path: {
            key: element(one, f"{path}.{key}") for key, one in _checked(dict, value, path).items()
        }
    if hint is datetime:
        return _time
    if isinstance(hint, type) and issubclass(hint, Record):
        return lambda value, path: decode(hint, value, path)
    if hint is float:
        return _number
    return functools.partial(_checked, hint)


def _number(value: Any, path: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise _nonsense(path, "a number", value)


def _time(value: Any, path: str) -> datetime:
    try:
        time = datetime.fromisoformat(_checked(str, value, path))
    except ValueError:
        raise _nonsense(path, "a time", value) from None
    if time.tzinfo is None:
        raise _nonsense(path, "a time in UTC", value)
    return time


def _checked(expected: type[Any], value: Any, path: str) -> Any:
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise _nonsense(path, f"a {expected.__name__}", value)
    return value


def _nonsense(path: str, expected: str, value: object) -> ProtocolError:
    return ProtocolError(f"the hub's '{path}' is not {expected} but {value!r:.60}", _VERSIONS)
