"""The calls of a hub, and their form for a socket and for the web port. Both clients, blocking and asyncio, are thin layers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from . import request as requests
from .conversation import Call, Document, Events, SocketLines, parse
from .decoding import decode
from .errors import NeedsWebPort, ProtocolError
from .framing import Event
from .models import Device, Fence, HeldDevice, HoldTicket, PowerChange, Record, RecordingFile, State
from .place import Place, WebPlace
from .request import Moment, Request

T = TypeVar("T")
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list that may be long."""

    items: tuple[T, ...]
    next: str | None
    """The path of the next page; ``None`` on the last one."""


class Core:
    """Makes the calls of one hub."""

    def __init__(self, place: Place, name: str | None) -> None:
        """
        :param name: the name of this client in the hub's list of holders, for a socket; ``None`` for the program's own name
        """
        self.place, self._name = place, name or _program_name()

    def states(self, rate: float | None, parts: Iterable[str] | None, more: Mapping[str, Any] | None) -> Call[State]:
        return self._stream(requests.states(rate, parts, more))

    def fixes(
        self, every: float, accuracy: float | None, within: float | None, more: Mapping[str, Any] | None
    ) -> Call[State]:
        return self._stream(requests.fixes(every, accuracy, within, more))

    def fence_events(self) -> Call[Fence]:
        place = self._web("fence events")

        def interpret(event: Event) -> Fence | None:
            return decode(Fence, parse(event.data)) if event.name == "fence" else None

        return Call(lambda: place.target, lambda: Events(place, "/events?only=fence", interpret))

    def last_state(self) -> Call[State]:
        return self._get("the last state", "/state", lambda body: decode(State, parse(body)))

    def devices(self) -> Call[tuple[Device, ...]]:
        def interpret(message: Any) -> tuple[Device, ...]:
            return _list(Device, message, "devices")

        if isinstance(self.place, WebPlace):
            return self._get("devices", "/devices", lambda body: interpret(parse(body)))
        place = self.place
        return Call(lambda: place.devices, lambda: SocketLines(b"", "DEVICES", interpret, is_one=True))

    def fences(self) -> Call[tuple[Fence, ...]]:
        def interpret(body: bytes) -> tuple[Fence, ...]:
            fences = parse(body).get("fences")
            if not isinstance(fences, dict):
                raise ProtocolError("the hub's answer has no 'fences'", "check that the hub and this client have the same version")
            return tuple(decode(Fence, {"name": name, **fence}, f"fences.{name}") for name, fence in fences.items())

        return self._get("fences", "/fences", interpret)

    def holds(self) -> Call[tuple[HeldDevice, ...]]:
        return self._get("holds", "/holds", lambda body: _list(HeldDevice, parse(body), "holds"))

    def hold(self, device: str, seconds: float, hold: str | None) -> Call[HoldTicket]:
        """Takes a hold, or prolongs the one with the id ``hold``."""
        query = requests.query({"for": requests.hold_seconds(seconds), "hold": hold})
        return self._post(f"/devices/{quote(device, safe='')}/hold{query}")

    def release(self, ticket: HoldTicket) -> Call[HoldTicket]:
        return self._post(f"/devices/{quote(ticket.device, safe='')}/release{requests.query({'hold': ticket.id})}")

    def history(self, start: Moment | None, end: Moment | None, every: float) -> Call[Page[State]]:
        return self._page("history", _span("/history", start, end, every=float(every)), "states", State)

    def power_history(self, start: Moment | None, end: Moment | None) -> Call[Page[PowerChange]]:
        return self._page("history", _span("/history/power", start, end), "changes", PowerChange)

    def next_states(self, next: str) -> Call[Page[State]]:
        return self._page("history", next, "states", State)

    def next_changes(self, next: str) -> Call[Page[PowerChange]]:
        return self._page("history", next, "changes", PowerChange)

    def track_gpx(self, start: Moment | None, end: Moment | None, every: float, simplify: float) -> Call[bytes]:
        path = _span("/history/track.gpx", start, end, every=float(every), simplify=float(simplify))
        return self._get("tracks", path, lambda body: body)

    def recordings(self) -> Call[tuple[RecordingFile, ...]]:
        return self._get("recordings", "/recordings", lambda body: _list(RecordingFile, parse(body), "recordings"))

    def _stream(self, request: Request) -> Call[State]:
        if isinstance(self.place, WebPlace):
            web = self.place
            path = "/events" + requests.query(request)

            def interpret(event: Event) -> State | None:
                return decode(State, parse(event.data)) if event.name == "message" else None

            return Call(lambda: web.target, lambda: Events(web, path, interpret))
        local = self.place
        line = json.dumps({**request, "name": self._name}).encode() + b"\n"
        return Call(lambda: local.states, lambda: SocketLines(line, "STATE", lambda state: decode(State, state)))

    def _page(self, what: str, path: str, key: str, cls: type[R]) -> Call[Page[R]]:
        def interpret(body: bytes) -> Page[R]:
            message = parse(body)
            next = message.get("next")
            if next is not None and not (isinstance(next, str) and next.startswith("/")):
                raise ProtocolError(f"the hub's 'next' is {next!r:.60}", "check that the hub and this client have the same version")
            return Page(_list(cls, message, key), next)

        return self._get(what, path, interpret)

    def _get(self, what: str, path: str, interpret: Callable[[bytes], T]) -> Call[T]:
        place = self._web(what)
        return Call(lambda: place.target, lambda: Document(place, "GET", path, interpret))

    def _post(self, path: str) -> Call[HoldTicket]:
        place = self._web("holds")
        return Call(
            lambda: place.target, lambda: Document(place, "POST", path, lambda body: decode(HoldTicket, parse(body)))
        )

    def _web(self, what: str) -> WebPlace:
        if isinstance(self.place, WebPlace):
            return self.place
        raise NeedsWebPort(
            f"{what}: the hub's socket does not have that",
            "name the web port, Hub('http://127.0.0.1:8080'), which the board file opens with 'http: {}'",
        )


def _list(cls: type[R], message: Mapping[str, Any], key: str) -> tuple[R, ...]:
    items = message.get(key)
    if not isinstance(items, list):
        raise ProtocolError(f"the hub's answer has no '{key}'", "check that the hub and this client have the same version")
    return tuple(decode(cls, item, f"{key}[{index}]") for index, item in enumerate(items))


def _span(path: str, start: Moment | None, end: Moment | None, **others: float) -> str:
    words: dict[str, Any] = {
        "from": None if start is None else requests.moment("start", start),
        "to": None if end is None else requests.moment("end", end),
    }
    return path + requests.query({**words, **others})


def _program_name() -> str:
    """The name of this program: that of its script, or ``python``."""
    script = Path(sys.argv[0] if sys.argv else "").stem
    return script if script and script not in ("-c", "-m", "__main__") else "python"
