"""What is said over one connection. No I/O: a conversation has a request, and makes values of what comes back."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .errors import AccessDenied, HubBusy, HubError, HubUnavailable, NotFound, ProtocolError, RequestRefused
from .framing import Event, EventSplitter, LineSplitter, Response, ResponseReader
from .place import Target, WebPlace

T = TypeVar("T")

LONGEST_DOCUMENT = 16 * 1024 * 1024
"""Bytes. No answer of a hub that is read whole comes close."""

STREAM_SILENCE = 45.0
"""Seconds. An event stream says something every 15 seconds; one that is silent for this long is lost."""


class Conversation(ABC, Generic[T]):
    """One connection, from its first byte to its last."""

    request: bytes = b""
    """What the client says first, and all that it says."""
    silence: float | None = None
    """Seconds without a byte after which the connection counts as lost; ``None`` for never."""
    is_over = False
    """All has been said; the connection is closed."""
    is_accepted = False
    """The hub is there, and serves this client."""

    @abstractmethod
    def receive(self, data: bytes) -> list[T]:
        """Takes the next bytes, and returns the values that they complete.

        :raises HubError: if the hub refuses, or makes no sense
        """

    def end(self) -> list[T]:
        """The hub has closed the connection.

        :raises HubError: unless all had been said
        """
        raise HubUnavailable("the hub has closed the connection", "it is restarting, or has been stopped")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """Something to ask a hub: to whom, and how."""

    target: Callable[[], Target]
    """Asked for each connection: a socket may lie elsewhere by then."""
    begin: Callable[[], Conversation[T]]


class SocketLines(Conversation[T]):
    """JSON objects of a Unix socket, one to a line."""

    def __init__(self, request: bytes, wanted: str, interpret: Callable[[Any], T], *, is_one: bool = False) -> None:
        """
        :param wanted: the ``class`` of the objects that matter; others are for somebody else
        :param is_one: whether one is all
        """
        self.request = request
        self.is_accepted = True
        self._wanted, self._interpret, self._is_one = wanted, interpret, is_one
        self._lines = LineSplitter()

    def receive(self, data: bytes) -> list[T]:
        values = []
        for line in self._lines.receive(data):
            if not line:
                continue
            message = parse(line)
            if message.get("class") == "ERROR":
                raise RequestRefused(f"the hub refuses: {message.get('message', 'it does not say why')}")
            if message.get("class") == self._wanted and not self.is_over:
                values.append(self._interpret(message))
                self.is_over = self._is_one
        return values


class Document(Conversation[T]):
    """A document of the web port."""

    silence = STREAM_SILENCE

    def __init__(self, place: WebPlace, method: str, path: str, interpret: Callable[[bytes], T]) -> None:
        self.request = _head(place, method, path)
        self._place, self._interpret = place, interpret
        self._reader = ResponseReader()
        self._body = bytearray()

    def receive(self, data: bytes) -> list[T]:
        self._body += self._reader.receive(data)
        if len(self._body) > LONGEST_DOCUMENT:
            raise ProtocolError(f"{self._place.target} sends a document without end", "is this the address of a hub?")
        return self._finish()

    def end(self) -> list[T]:
        if self._reader.response is None and not self._body:
            return super().end()
        self._reader.end()
        return self._finish()

    def _finish(self) -> list[T]:
        response = self._reader.response
        if response is None or not self._reader.is_complete or self.is_over:
            return []
        self.is_over = self.is_accepted = True
        if response.status != 200:
            raise refusal(self._place, response, bytes(self._body))
        return [self._interpret(bytes(self._body))]


class Events(Conversation[T]):
    """Server-sent events of the web port."""

    silence = STREAM_SILENCE

    def __init__(self, place: WebPlace, path: str, interpret: Callable[[Event], T | None]) -> None:
        """
        :param interpret: returns ``None`` for an event that does not matter
        """
        self.request = _head(place, "GET", path, "text/event-stream")
        self._place, self._interpret = place, interpret
        self._reader = ResponseReader()
        self._events = EventSplitter()
        self._refused = bytearray()

    def receive(self, data: bytes) -> list[T]:
        body = self._reader.receive(data)
        response = self._reader.response
        if response is None:
            return []
        if response.status != 200:
            self._refused += body
            if self._reader.is_complete or len(self._refused) > LONGEST_DOCUMENT:
                raise refusal(self._place, response, bytes(self._refused))
            return []
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            raise ProtocolError(f"{self._place.target} sends no events", "is this the address of a hub?")
        self.is_accepted = True
        values = [value for event in self._events.receive(body) if (value := self._interpret(event)) is not None]
        if self._reader.is_complete:
            self.is_over = True
        return values

    def end(self) -> list[T]:
        response = self._reader.response
        if response is not None and response.status != 200:
            raise refusal(self._place, response, bytes(self._refused))
        return super().end()


def parse(text: bytes | str) -> dict[str, Any]:
    """A JSON object.

    :raises ProtocolError: if it is none
    """
    try:
        message = json.loads(text)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise ProtocolError(f"the hub says {text!r:.60}, which is no JSON object", "is this a SensorHub?")
    return message


def refusal(place: WebPlace, response: Response, body: bytes) -> HubError:
    """What a status other than 200 means."""
    reason = _reason(body) or f"status {response.status}"
    match response.status:
        case 401 if place.token is None:
            return AccessDenied(f"the hub at {place.target} wants its token", "pass token=; its file is http.tokenFile of the board")
        case 401:
            return AccessDenied(
                f"the hub at {place.target} refuses this token", "compare it with the file http.tokenFile of the board"
            )
        case 403 | 421:
            return AccessDenied(f"the hub at {place.target} refuses: {reason}")
        case 404:
            return NotFound(f"the hub refuses: {reason}")
        case 429 | 503:
            after = response.headers.get("retry-after", "")
            return HubBusy(
                f"the hub at {place.target} is busy: {reason}",
                "close what is not needed, or try later",
                float(after) if after.isdigit() else None,
            )
        case 502 | 504:
            return HubUnavailable(f"the proxy at {place.target} does not reach the hub", "does the hub run?")
        case status if 300 <= status < 400:
            to = response.headers.get("location", "elsewhere")
            return RequestRefused(f"{place.target} sends its clients to {to}", "use that address")
        case _:
            return RequestRefused(f"the hub refuses: {reason}")


def _reason(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return ""


def _head(place: WebPlace, method: str, path: str, accept: str = "*/*") -> bytes:
    lines = [f"{method} {place.prefix}{path} HTTP/1.1", f"Host: {place.authority}", f"Accept: {accept}", "Connection: close"]
    if (secret := place.secret()) is not None:
        lines.append(f"Authorization: Bearer {secret}")
    if method == "POST":
        lines.append("Content-Length: 0")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
