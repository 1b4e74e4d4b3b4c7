"""Cuts the bytes of a hub into messages. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import ProtocolError

_LONGEST = 16 * 1024 * 1024
"""In bytes. The lines, events and documents of a hub are much shorter."""
_LONGEST_HEAD = 64 * 1024
"""The largest head of a response, in bytes."""
_LONGEST_SIZE = 256
"""The longest line before a chunk, in bytes."""


class LineSplitter:
    """Cuts a stream into lines, without their ends."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def receive(self, data: bytes) -> list[bytes]:
        """Takes the next bytes, and returns the lines that they complete."""
        self._pending += data
        if b"\n" not in data:
            if len(self._pending) > _LONGEST:
                raise ProtocolError("a line of more than 16 MB came", "check that this address is a SensorHub's")
            return []
        *lines, rest = self._pending.split(b"\n")
        self._pending = rest
        return [bytes(line.removesuffix(b"\r")) for line in lines]


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event."""

    name: str
    """``message`` if the event has no name."""
    data: str


class EventSplitter:
    """Cuts a stream into server-sent events (WHATWG HTML, 9.2.6)."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        """The characters in the lines of the event that has begun."""

    def receive(self, data: bytes) -> list[Event]:
        """Takes the next bytes, and returns the events that they complete."""
        events = []
        for raw in self._lines.receive(data):
            line = raw.decode("utf-8", "replace")
            if not line:
                if self._data:
                    events.append(Event(self._name or "message", "\n".join(self._data)))
                self._name, self._data, self._size = "", [], 0
                continue
            self._size += len(line) + 1
            if self._size > _LONGEST:
                raise ProtocolError("an event of more than 16 MB came", "check that this address is a SensorHub's")
            key, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if key == "data":
                self._data.append(value)
            elif key == "event":
                self._name = value
        return events


@dataclass
class Response:
    """The head of an HTTP response."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    """The headers, by their names in lower case."""


class ResponseReader:
    """Reads one response of HTTP/1.1 (RFC 9112) on a connection that carries no other response."""

    def __init__(self) -> None:
        self.response: Response | None = None
        self.is_complete = False
        self._pending = bytearray()
        self._left: int | None = 0
        """The bytes of the body, or of its chunk, that have not arrived yet; ``None`` if the body ends with the connection."""
        self._is_chunked = False
        self._is_after_chunk = False

    def receive(self, data: bytes) -> bytes:
        """Takes the next bytes, and returns the part of the body in them."""
        self._pending += data
        body = bytearray()
        while self._step(body):
            pass
        if self._left is not None and len(self._pending) > _LONGEST:
            raise ProtocolError("the answer is not an HTTP response", "check that this is the hub's web port")
        return bytes(body)

    def end(self) -> None:
        """Takes the end of the connection.

        :raises ProtocolError: if the response is not complete
        """
        if self.response is not None and self._left is None and not self._is_chunked:
            self.is_complete = True
        if not self.is_complete:
            raise ProtocolError("the answer ends in the middle", "try again")

    def _step(self, body: bytearray) -> bool:
        """Reads one piece of the pending bytes; returns whether there may be another one."""
        if self.is_complete:
            return False
        if self.response is None:
            return self._read_head()
        if self._left is None:
            body += self._take(len(self._pending))
            return False
        if self._left > 0:
            piece = self._take(self._left)
            body += piece
            self._left -= len(piece)
            if self._left > 0:
                return False
            self._is_after_chunk = self._is_chunked
        if not self._is_chunked:
            self.is_complete = True
            return False
        return self._read_chunk_size()

    def _read_head(self) -> bool:
        if not b"HTTP/1.".startswith(self._pending[:7]):
            raise ProtocolError("the answer is not an HTTP response", "check that this is the hub's web port")
        end = self._pending.find(b"\r\n\r\n", 0, _LONGEST_HEAD)
        if end < 0:
            if len(self._pending) > _LONGEST_HEAD:
                raise ProtocolError("the head of the answer has more than 64 kB", "check that this is the hub's web port")
            return False
        status_line, *lines = self._take(end + 4).decode("latin-1").rstrip("\r\n").split("\r\n")
        words = status_line.split(" ", 2)
        if len(words) < 2 or not words[1].isdigit():
            raise ProtocolError(f"the answer begins with {status_line!r:.60}", "check that this is the hub's web port")
        response = Response(int(words[1]))
        for line in lines:
            name, _, value = line.partition(":")
            response.headers[name.strip().lower()] = value.strip()
        if 100 <= response.status < 200:
            return True
        self.response = response
        self._is_chunked = response.headers.get("transfer-encoding", "").lower() == "chunked"
        length = response.headers.get("content-length")
        if self._is_chunked:
            self._left = 0
        elif length is not None:
            if not length.isdigit():
                raise ProtocolError(f"the answer's length is {length!r:.60}", "check that this is the hub's web port")
            self._left = int(length)
        else:
            self._left = None
        return True

    def _read_chunk_size(self) -> bool:
        """Reads the line before a chunk, which follows the line end of the previous chunk."""
        if self._is_after_chunk:
            if not b"\r\n".startswith(self._pending[:2]):
                raise ProtocolError("a chunk does not end where it says", "check that this is the hub's web port")
            if len(self._pending) < 2:
                return False
            self._take(2)
            self._is_after_chunk = False
        end = self._pending.find(b"\r\n", 0, _LONGEST_SIZE)
        line = bytes(self._pending[:end] if end >= 0 else self._pending[:_LONGEST_SIZE])
        if end < 0 and len(line) < _LONGEST_SIZE:
            return False
        digits = line.partition(b";")[0].strip()
        if end < 0 or not digits or digits.strip(b"0123456789abcdefABCDEF"):
            raise ProtocolError(f"a chunk begins with {line!r:.60}", "check that this is the hub's web port")
        size = int(digits, 16)
        if size == 0:
            # Reads the trailers and the empty line after them, if they have arrived: nothing else follows on this connection.
            self._pending.clear()
            self.is_complete = True
            return False
        self._take(end + 2)
        self._left = size
        return True

    def _take(self, count: int) -> bytes:
        taken = bytes(self._pending[:count])
        del self._pending[:count]
        return taken
