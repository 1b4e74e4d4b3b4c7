"""The blocking client."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from . import place as places
from .conversation import Call, Conversation
from .core import Core
from .errors import HubError, HubUnavailable, NotFound
from .models import Device, Fence, HeldDevice, HoldTicket, PowerChange, RecordingFile, State
from .persistence import HoldPlan, Persistence, logger
from .place import Target, Token
from .request import Moment
from .wire import Wire

T = TypeVar("T")

_CHUNK = 65536


class Hub:
    """A hub, for programs that block while they wait.

    ::

        with Hub() as hub:
            for state in hub.states(rate=2, parts=["position"]):
                print(state.position)

    This object has no connection of its own: each call and each subscription opens one. Leaving the ``with`` block closes all
    subscriptions, so the hub can power the devices down. Several threads may use one ``Hub``.
    """

    def __init__(
        self,
        place: str | os.PathLike[str] | None = None,
        *,
        token: Token = None,
        name: str | None = None,
        wait: bool = False,
        reconnect: bool = True,
        timeout: float = 10,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """
        :param place: the path of ``hub.sock``, or a URL (``http://host:8080``); default: the hub of this machine
        :param token: the token of the web port, or the path (``pathlib.Path``) of the file with the token
        :param name: the name of this client in the hub's list of holders; default: the program's own name
        :param wait: whether subscriptions wait for a hub that does not run yet, instead of raising ``HubUnavailable``
        :param reconnect: whether subscriptions connect again to a hub that was restarted
        :param timeout: the longest time in seconds for connecting, and for the answer to a call
        :param tls: for ``https://``, the TLS context to use instead of one with the system's certificates
        :raises ValueError: if the place or the token is invalid
        """
        self._core = Core(places.find(place, token, tls), name)
        self._wait, self._reconnect, self._timeout = wait, reconnect, timeout
        self._open: weakref.WeakSet[Subscription[Any]] = weakref.WeakSet()
        self._lock = threading.Lock()
        """Protects ``_open``."""

    def states(
        self,
        *,
        rate: float | None = None,
        parts: Iterable[str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Subscription[State]:
        """The fused state, again and again. Wakes the devices as long as the program iterates.

        :param rate: states per second at most, 0.01 to 1000; default: the board's own rate
        :param parts: the requested parts of the state (``PARTS``). Only the devices for these parts are woken; other parts may be
            included while other clients keep their devices awake. Default: all
        :param more: further keys, for a hub that is newer than this package. A hub refuses keys that it does not know
        """
        return self._subscription(self._core.states(rate, parts, more))

    def fixes(
        self,
        *,
        every: float,
        accuracy: float | None = None,
        within: float | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Subscription[State]:
        """Fixes at intervals; the receiver sleeps in between. The first fix comes at once.

        Each state has a ``schedule``, which says how good the fix is. If no fix was found in time, ``position`` is ``None``.

        :param every: seconds from one fix to the next, 1 to 604800
        :param accuracy: the required radius that contains 95 % of the fixes, in metres, 0.1 to 10000; default: any fix
        :param within: how many seconds the receiver may be awake for one fix, 1 to 3600; default: 60
        :param more: further keys, for a hub that is newer than this package. A hub refuses keys that it does not know
        """
        return self._subscription(self._core.fixes(every, accuracy, within, more))

    def fence_events(self) -> Subscription[Fence]:
        """The board's fences: each once at first, and then again at each change of its state. Wakes nothing by itself.

        Needs HTTP.
        """
        return self._subscription(self._core.fence_events())

    def devices(self) -> tuple[Device, ...]:
        """The devices: their power with the reason, the clients that hold them, and their energy. Wakes nothing."""
        return self._call(self._core.devices())

    def last_state(self) -> State:
        """The last state, however old it is; its ages count up to now. Wakes nothing. Needs HTTP."""
        return self._call(self._core.last_state())

    def fences(self) -> tuple[Fence, ...]:
        """The board's fences as they are now. Wakes nothing. Needs HTTP."""
        return self._call(self._core.fences())

    def holds(self) -> tuple[HeldDevice, ...]:
        """All holds; the one that ends next is the first. Wakes nothing. Needs HTTP."""
        return self._call(self._core.holds())

    def hold(self, device: str, *, seconds: float = 60) -> Hold:
        """Keeps a device awake without listening to it. Needs HTTP.

        The hold ends after ``seconds``; as a context manager it lasts until the end of the block::

            with hub.hold("gps"):
                ...

        If the program dies, the hold ends by itself within ``seconds``.

        :param seconds: 1 to 86400
        """
        return Hold(self, device, seconds)

    def history(self, start: Moment | None = None, end: Moment | None = None, *, every: float = 10) -> Iterator[State]:
        """The recorded states. The client fetches page after page while you iterate. Wakes nothing. Needs HTTP.

        :param start: default: an hour before ``end``
        :param end: default: now
        :param every: at most one state in this many seconds; 0 for all
        """
        page = self._call(self._core.history(start, end, every))
        while True:
            yield from page.items
            if page.next is None:
                return
            page = self._call(self._core.next_states(page.next))

    def power_history(self, start: Moment | None = None, end: Moment | None = None) -> Iterator[PowerChange]:
        """The recorded changes of the devices' power. Wakes nothing. Needs HTTP.

        The first changes may be older than ``start``: they give the power of each device at ``start``.
        """
        page = self._call(self._core.power_history(start, end))
        while True:
            yield from page.items
            if page.next is None:
                return
            page = self._call(self._core.next_changes(page.next))

    def track_gpx(
        self, start: Moment | None = None, end: Moment | None = None, *, every: float = 1, simplify: float = 0
    ) -> bytes:
        """The recorded track as a GPX file. Wakes nothing. Needs HTTP.

        :param every: at most one point in this many seconds; 0 for all
        :param simplify: points within this many metres of the line are left out
        """
        return self._call(self._core.track_gpx(start, end, every, simplify))

    def recordings(self) -> tuple[RecordingFile, ...]:
        """The files of the recorder, the oldest first. Wakes nothing. Needs HTTP."""
        return self._call(self._core.recordings())

    def close(self) -> None:
        """Closes all subscriptions."""
        with self._lock:
            subscriptions = list(self._open)
        for subscription in subscriptions:
            subscription.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _subscription(self, call: Call[T]) -> Subscription[T]:
        persistence = Persistence(wait=self._wait, reconnect=self._reconnect)
        subscription = Subscription(call, persistence, self._timeout)
        with self._lock:
            self._open.add(subscription)
        return subscription

    def _call(self, call: Call[T]) -> T:
        conversation = call.begin()
        connection = Connection(call.target(), self._timeout)
        try:
            connection.send(conversation.request)
            while True:
                data = connection.receive(max(self._timeout, conversation.silence or 0))
                for value in conversation.receive(data) if data else conversation.end():
                    return value
        finally:
            connection.close()


class Subscription(Generic[T]):
    """The values that a hub sends, one after the other. Iterating over this object is the subscription.

    The connection opens when the first value is requested, or at the beginning of a ``with`` block. If the hub restarts, the
    subscription connects again. The connection closes, and the hub can power the devices down, in each of these cases:

    - the ``with`` block of the subscription or of its hub ends;
    - ``close()`` is called, from any thread;
    - a wait for a value ends with an exception, for example with Ctrl-C;
    - nothing refers to the subscription any more. Leaving a ``for`` loop over ``hub.states()`` therefore ends it.
    """

    def __init__(self, call: Call[T], persistence: Persistence, timeout: float) -> None:
        self._call, self._persistence, self._timeout = call, persistence, timeout
        self._closing = threading.Event()
        self._connection: Connection | None = None
        self._conversation: Conversation[T] | None = None
        self._values: list[T] = []

    def next(self, timeout: float | None = None) -> T:
        """The next value.

        :param timeout: the longest wait in seconds; after a timeout the connection stays open
        :raises TimeoutError: if no value arrived in time
        :raises StopIteration: after ``close()``
        :raises HubError: if the hub refuses the request, or does not run at the first attempt
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._values:
            if self._closing.is_set():
                raise StopIteration
            try:
                self._proceed(deadline)
            except HubError as error:
                self._disconnect()
                if self._closing.is_set():
                    raise StopIteration from None
                delay = self._persistence.failed(error)
                self._closing.wait(delay if deadline is None else min(delay, max(0.0, deadline - time.monotonic())))
            except TimeoutError:
                raise
            except BaseException:
                # This includes an interrupt: nothing is left that would read from the connection.
                self._disconnect()
                raise
            if deadline is not None and not self._values and time.monotonic() >= deadline:
                raise TimeoutError(f"nothing new within {timeout:g} s; sensorhub devices says what each device does")
        return self._values.pop(0)

    def close(self) -> None:
        """Closes the connection. The hub powers the devices down unless other clients need them."""
        self._closing.set()
        self._disconnect()

    def _proceed(self, deadline: float | None) -> None:
        """Waits for the next bytes."""
        connection, conversation = self._connect()
        if conversation.is_over:
            # The conversation is over, and its values have been delivered.
            conversation.end()
        silence = conversation.silence
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        wait = silence if left is None else left if silence is None else min(left, silence)
        try:
            data = connection.receive(wait)
        except HubUnavailable:
            if left is not None and wait == left and connection.was_late:
                return
            raise
        values = conversation.receive(data) if data else conversation.end()
        if conversation.is_accepted:
            self._persistence.served()
        if values:
            self._persistence.heard()
            self._values += values

    def _connect(self) -> tuple[Connection, Conversation[T]]:
        if self._connection is not None and self._conversation is not None:
            return self._connection, self._conversation
        conversation = self._call.begin()
        connection = Connection(self._call.target(), self._timeout)
        # From here on the connection is closed in any case.
        self._connection, self._conversation = connection, conversation
        connection.send(conversation.request)
        if conversation.is_accepted:
            self._persistence.served()
        if self._closing.is_set():
            self._disconnect()
        return connection, conversation

    def _disconnect(self) -> None:
        connection, self._connection, self._conversation = self._connection, None, None
        if connection is not None:
            connection.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        return self.next()

    def __enter__(self) -> Self:
        while not self._closing.is_set():
            try:
                self._connect()
                break
            except HubError as error:
                self._disconnect()
                self._closing.wait(self._persistence.failed(error))
            except BaseException:
                self._disconnect()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # If __init__ failed, there is nothing to close.
        with suppress(AttributeError):
            self.close()


class Hold:
    """A hold: keeps a device awake for some time, or, as a context manager, until the end of the block."""

    def __init__(self, hub: Hub, device: str, seconds: float) -> None:
        self._hub = hub
        ticket = hub._call(hub._core.hold(device, seconds, None))
        self._plan = HoldPlan(device, seconds, ticket)
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def device(self) -> str:
        """The device that the hold keeps awake."""
        return self._plan.device

    @property
    def id(self) -> str | None:
        """The id of the hold at the hub; ``None`` while the hub has no such hold, because it was restarted."""
        return None if self._plan.ticket is None else self._plan.ticket.id

    def prolong(self, seconds: float | None = None) -> HoldTicket:
        """Prolongs the hold, so that it lasts ``seconds`` from now; by default as long as at first.

        :raises NotFound: if the hold is over
        """
        hub, plan = self._hub, self._plan
        ticket = hub._call(hub._core.hold(plan.device, seconds or plan.seconds, self.id))
        plan.prolonged(ticket)
        return ticket

    def release(self) -> None:
        """Ends the hold. Does nothing if the hold is over."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        ticket, self._plan.ticket = self._plan.ticket, None
        if ticket is not None:
            with suppress(NotFound):
                self._hub._call(self._hub._core.release(ticket))

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._keep, name=f"hold on {self.device}", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.release()
        except HubError as problem:
            logger.warning("the hold on %s ends by itself within %g s: %s", self.device, self._plan.seconds, problem)

    def _keep(self) -> None:
        hub, plan = self._hub, self._plan
        pause = plan.pause
        while not self._ending.wait(pause):
            try:
                pause = plan.prolonged(hub._call(hub._core.hold(plan.device, plan.seconds, self.id)))
            except HubError as error:
                pause = plan.failed(error)


class Connection:
    """A connection to a hub that blocks while it waits."""

    def __init__(self, target: Target, timeout: float) -> None:
        """:raises HubError: if the hub cannot be reached"""
        self._target, self._timeout = target, timeout
        self._wire: Wire = target.wire()
        self.was_late = False
        """Whether the last wait ended without a byte."""
        try:
            self._socket = _open(target, timeout)
        except OSError as error:
            raise target.unreachable(error) from error

    def send(self, data: bytes) -> None:
        self._wire.send(data)
        self._flush()

    def receive(self, wait: float | None) -> bytes:
        """The next bytes; empty if the hub has closed the connection.

        :param wait: the longest wait in seconds
        :raises HubUnavailable: if no bytes arrived in time, or the connection is lost
        """
        deadline = None if wait is None else time.monotonic() + wait
        self.was_late = False
        while True:
            try:
                self._socket.settimeout(None if deadline is None else max(0.001, deadline - time.monotonic()))
                data = self._socket.recv(_CHUNK)
                if not data:
                    return b""
                said = self._wire.receive(data)
                self._flush()
            except TimeoutError as error:
                self.was_late = True
                raise HubUnavailable(
                    f"the hub at {self._target} has been silent for {wait:g} s", "is the network up?"
                ) from error
            except OSError as error:
                raise self._target.unreachable(error) from error
            if said:
                return said

    def close(self) -> None:
        # A thread that waits for this connection wakes, and the hub notices the end at once.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _flush(self) -> None:
        data = self._wire.outgoing()
        if not data:
            return
        try:
            self._socket.settimeout(self._timeout)
            self._socket.sendall(data)
        except OSError as error:
            raise self._target.unreachable(error) from error


def _open(target: Target, timeout: float) -> socket.socket:
    if not target.path:
        return socket.create_connection((target.host, target.port), timeout)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout)
        # The hub waits 250 ms for the request of a client whose end has a name. Other clients get all parts after 25 ms.
        connection.bind("")
        connection.connect(target.path)
    except BaseException:
        connection.close()
        raise
    return connection
