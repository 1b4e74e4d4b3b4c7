"""The layer between a connection and its content: nothing, or TLS. No I/O."""

from __future__ import annotations

import ssl
from typing import Protocol


class Wire(Protocol):
    """Turns content into the bytes of a connection, and back."""

    def send(self, data: bytes) -> None:
        """Takes content to send."""

    def outgoing(self) -> bytes:
        """The bytes to write to the connection now; may be empty."""

    def receive(self, data: bytes) -> bytes:
        """Takes bytes from the connection, and returns their content."""


class PlainWire:
    """Passes the bytes on unchanged."""

    def __init__(self) -> None:
        self._outgoing = b""

    def send(self, data: bytes) -> None:
        self._outgoing += data

    def outgoing(self) -> bytes:
        data, self._outgoing = self._outgoing, b""
        return data

    def receive(self, data: bytes) -> bytes:
        return data


class TLSWire:
    """TLS, with its handshake."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=host)
        self._is_open = False
        self._waiting = b""

    def send(self, data: bytes) -> None:
        self._waiting += data
        self._proceed()

    def outgoing(self) -> bytes:
        return self._out.read()

    def receive(self, data: bytes) -> bytes:
        """:raises ssl.SSLError: if the certificate of the other end is not accepted"""
        self._in.write(data)
        said = b""
        try:
            self._proceed()
            while self._is_open and (piece := self._tls.read(65536)):
                said += piece
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        return said

    def _proceed(self) -> None:
        try:
            if not self._is_open:
                self._tls.do_handshake()
                self._is_open = True
            if self._waiting:
                self._tls.write(self._waiting)
                self._waiting = b""
        except ssl.SSLWantReadError:
            pass
