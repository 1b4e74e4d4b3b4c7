"""The place of a hub, and the meaning of a failure to reach it there."""

from __future__ import annotations

import os
import pwd
import socket
import ssl
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from .errors import AccessDenied, HubError, HubUnavailable
from .wire import PlainWire, TLSWire, Wire

Token: TypeAlias = "str | os.PathLike[str] | None"
"""The token of the web port, or the path of the file with the token."""


@dataclass(frozen=True, slots=True)
class Target:
    """The other end of a connection: a Unix socket, or a port."""

    path: str = ""
    """Empty for a port."""
    host: str = ""
    port: int = 0
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        return self.path or (f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}")

    def wire(self) -> Wire:
        return TLSWire(self.tls, self.host) if self.tls else PlainWire()

    def unreachable(self, error: OSError) -> HubError:
        """The error for a connection that could not be made, or was lost."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return AccessDenied(
                f"the certificate of {self} is not trusted ({error.verify_message})", "pass tls= a context that knows its issuer"
            )
        if isinstance(error, ssl.SSLError):
            return HubUnavailable(f"{self} does not speak TLS ({error.reason})", "is it http:// in place of https://?")
        reason = error.strerror or str(error) or type(error).__name__
        if self.path:
            if isinstance(error, PermissionError):
                return AccessDenied(f"no permission to connect to {self}", "the socket's folder must be open to this user")
            if isinstance(error, (FileNotFoundError, ConnectionRefusedError, NotADirectoryError)):
                return HubUnavailable(
                    f"no hub answers at {self}",
                    "start it ('sudo systemctl start sensorhub', or 'sensorhub run --board FILE'), or say where it is: Hub(place)",
                )
            return HubUnavailable(f"no connection to {self}: {reason}", "does 'sensorhub devices' reach the hub?")
        if isinstance(error, socket.gaierror):
            return HubUnavailable(f"the name {self.host!r} is unknown ({reason})", "check the name, or use the address")
        if isinstance(error, ConnectionRefusedError):
            return HubUnavailable(
                f"no hub answers at {self}", "does it run, and does its board file open this port ('http: {}')?"
            )
        return HubUnavailable(f"no connection to {self}: {reason}", "check the address, the network and whether the hub runs")


@dataclass(frozen=True, slots=True)
class SocketPlace:
    """A hub on this machine."""

    candidates: tuple[str, ...]
    """Paths of hub.sock; the first that exists is used."""
    checked: bool = False
    """Whether the folder must belong to this user, to root or to the service. Others could make ``/tmp/sensorhub-UID`` first."""

    @property
    def path(self) -> str:
        """The path of hub.sock.

        :raises AccessDenied: if another user could have put the socket there
        """
        there = [path for path in self.candidates if os.path.exists(path)]
        trusted = [path for path in there if not self.checked or _is_trusted(os.path.dirname(path))]
        if there and not trusted:
            folder = os.path.dirname(there[0])
            raise AccessDenied(
                f"the folder {folder} is another user's, or others can write to it: it is not used",
                f"look at who has made it: ls -ld {folder}",
            )
        return trusted[0] if trusted else self.candidates[0]

    @property
    def states(self) -> Target:
        return Target(path=self.path)

    @property
    def devices(self) -> Target:
        return Target(path=os.path.join(os.path.dirname(self.path), "devices.sock"))


@dataclass(frozen=True, slots=True)
class WebPlace:
    """A hub's web port."""

    target: Target
    prefix: str
    """The beginning of each path: a proxy may serve the hub below a path of its own."""
    authority: str
    """The value of the Host header."""
    token: Token = None

    def secret(self) -> str | None:
        """The token, which is read from its file if necessary.

        :raises AccessDenied: if the file cannot be read, or the token is invalid
        """
        if self.token is None or isinstance(self.token, str):
            secret = self.token
        else:
            try:
                secret = Path(self.token).read_text("utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "it is not text"
                raise AccessDenied(f"the token cannot be read from {self.token}: {reason}", "check its path and mode") from error
        if secret is not None and not (secret.isascii() and secret.isprintable() and secret):
            raise AccessDenied("the token is not one line of ASCII", "pass what the file http.tokenFile contains")
        return secret


Place: TypeAlias = SocketPlace | WebPlace


def find(place: str | os.PathLike[str] | None, token: Token, tls: ssl.SSLContext | None) -> Place:
    """Finds the place of a hub.

    :param place: the path of hub.sock or of its folder, a URL, or ``None`` for the hub of this machine
    :raises ValueError: if the place or the token is invalid
    """
    text = "" if place is None else os.fspath(place)
    if "://" in text:
        return _web(text, token, tls)
    if token is not None:
        raise ValueError("a token is for a hub with a URL: Hub('http://host:8080', token=...)")
    if not text:
        return SocketPlace(_candidates(), checked=True)
    if "/" not in text and ":" in text:
        raise ValueError(f"{text!r} is not a URL; write 'http://{text}'")
    return SocketPlace((os.path.join(text, "hub.sock") if os.path.isdir(text) else text,))


def _is_trusted(folder: str) -> bool:
    """Whether a folder belongs to this user, to root or to the service, and no other user can write to it."""
    owners = {os.geteuid(), 0}
    try:
        owners.add(pwd.getpwnam("sensorhub").pw_uid)
    except KeyError:
        pass
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid in owners and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _candidates() -> tuple[str, ...]:
    """The sockets of this machine's hubs: this user's own, then the system's."""
    system = "/run/sensorhub/hub.sock"
    if os.getuid() == 0:
        return (system,)
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    own = f"{runtime}/sensorhub/hub.sock" if runtime else f"/tmp/sensorhub-{os.getuid()}/hub.sock"
    return (own, system)


def _web(text: str, token: Token, tls: ssl.SSLContext | None) -> WebPlace:
    url = urlsplit(text)
    if url.scheme not in ("http", "https"):
        raise ValueError(f"{text!r} is neither http:// nor https://")
    if not url.hostname:
        raise ValueError(f"{text!r} names no host")
    if url.username is not None or url.password is not None:
        raise ValueError("a token must not be in the URL, because logs would show it; pass token=")
    if url.query or url.fragment:
        raise ValueError(f"{text!r} has a query; pass the address alone")
    is_secure = url.scheme == "https"
    if tls is not None and not is_secure:
        raise ValueError("tls= is for https://")
    target = Target(
        host=url.hostname,
        port=url.port or (443 if is_secure else 80),
        tls=(tls or ssl.create_default_context()) if is_secure else None,
    )
    return WebPlace(target, url.path.rstrip("/"), url.netloc, token)
