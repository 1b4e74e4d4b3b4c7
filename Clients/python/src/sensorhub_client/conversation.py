"""The exchange over one connection. No I/O: a conversation has a request, and makes values of the answer's bytes."""

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
"""In bytes. The documents of a hub are much shorter."""

STREAM_SILENCE = 45.0
"""In seconds. An event stream sends something every 15 seconds; a stream that is silent for this long is lost."""


class Conversation(ABC, Generic[T]):
    """One connection, from its first byte to its last."""

    request: bytes = b""
    """The bytes that the client sends. It sends nothing after them."""
    silence: float | None = None
    """Seconds without a byte after which the connection counts as lost; ``None`` for never."""
    is_over = False
    """Whether the answer is complete. The connection is closed then."""
    is_accepted = False
    """Whether the hub runs and serves this client."""

    @abstractmethod
    def receive(self, data: bytes) -> list[T]:
        """Takes the next bytes, and returns the values that they complete.

        :raises HubError: if the hub refuses the request, or its answer is invalid
        """

    def end(self) -> list[T]:
        """Takes the end of the connection, which the hub has closed.

        :raises HubError: unless the answer was complete
        """
        raise HubUnavailable("the hub has closed the connection", "it is restarting, or has been stopped")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request to a hub: where to connect, and how to begin the conversation."""

    target: Callable[[], Target]
    """Called for each connection, because the path of the socket may have changed."""
    begin: Callable[[], Conversation[T]]


class SocketLines(Conversation[T]):
    """JSON objects from a Unix socket, one per line."""

    def __init__(self, request: bytes, wanted: str, interpret: Callable[[Any], T], *, is_one: bool = False) -> None:
        """
        :param wanted: the ``class`` of the objects to return; other objects are ignored
        :param is_one: whether the answer is a single object
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
        :param interpret: returns ``None`` for an event to ignore
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

    :raises ProtocolError: if the text is not a JSON object
    """
    try:
        message = json.loads(text)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise ProtocolError(f"the hub says {text!r:.60}, which is not a JSON object", "check that this address is a SensorHub's")
    return message


def refusal(place: WebPlace, response: Response, body: bytes) -> HubError:
    """The error for a status other than 200."""
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
