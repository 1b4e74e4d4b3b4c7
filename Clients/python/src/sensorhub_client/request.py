"""Requests of a client: their checks, and their form on a socket and in a URL."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias
from urllib.parse import urlencode

PARTS = (
    "position", "altitude", "motion", "time", "satellites", "attitude", "heading", "rates", "acceleration",
    "magneticField", "pressure", "supply",
)
"""The parts of the state that a client may ask for. A newer hub may know more of them."""

Moment: TypeAlias = datetime | float | int
"""An instant: a datetime with a time zone, or seconds since 1970."""

Request: TypeAlias = Mapping[str, Any]
"""A request, with the names of keys at hub.sock. In a URL the names are the same, except ``rate`` for ``rateHz``."""


def states(rate: float | None, parts: Iterable[str] | None, more: Mapping[str, Any] | None) -> Request:
    """A request for states.

    :raises ValueError: if no hub could fulfil it
    """
    request: dict[str, Any] = {}
    if rate is not None:
        request["rateHz"] = _number("rate", rate, 0.01, 1000, "states a second")
    if parts is not None:
        if isinstance(parts, str):
            raise ValueError(f"parts is a list of names: parts=[{parts!r}]")
        request["parts"] = list(parts)
        if not request["parts"]:
            raise ValueError("parts is empty; leave it out for all parts")
        for part in request["parts"]:
            if part not in PARTS:
                raise ValueError(f"there is no part {part!r}; valid ones are {', '.join(PARTS)}")
    return request | dict(more or {})


def fixes(every: float, accuracy: float | None, within: float | None, more: Mapping[str, Any] | None) -> Request:
    """A request for fixes at intervals.

    :raises ValueError: if no hub could fulfil it
    """
    request: dict[str, Any] = {"every": _number("every", every, 1, 604_800, "seconds")}
    if accuracy is not None:
        request["accuracy"] = _number("accuracy", accuracy, 0.1, 10_000, "metres")
    if within is not None:
        request["within"] = _number("within", within, 1, 3600, "seconds")
    return request | dict(more or {})


def hold_seconds(seconds: float) -> float:
    """Checks the duration of a hold."""
    return _number("seconds", seconds, 1, 86_400, "seconds")


def query(request: Request) -> str:
    """The request as the query of a URL, with its question mark; empty for a request without keys."""
    names = {"rateHz": "rate"}
    words = {names.get(key, key): _word(value) for key, value in request.items() if value is not None}
    return "?" + urlencode(words, safe=",:") if words else ""


def moment(name: str, value: Moment) -> str:
    """An instant in the hub's format.

    :raises ValueError: if it has no time zone
    """
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{name} has no time zone; {name}.astimezone() takes it as local time")
        value = value.timestamp()
    return _word(value)


def _number(name: str, value: float, least: float, most: float, unit: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} must be a number of {unit}, not {value!r}")
    if not (math.isfinite(value) and least <= value <= most):
        raise ValueError(f"{name} must be from {least:g} to {most:g} {unit}, not {value!r}")
    return value


def _word(value: Any) -> str:
    """A value as text. Numbers are plain decimals, because the hub accepts no exponents."""
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    if isinstance(value, (list, tuple)):
        return ",".join(str(one) for one in value)
    return str(value)
