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
    """A hub, for programs that wait for what it says.

    ::

        with Hub() as hub:
            for state in hub.states(rate=2, parts=["position"]):
                print(state.position)

    It has no connection of its own: each call and each subscription opens one. Leaving the ``with`` block closes all
    subscriptions, and so the hub powers their devices down. May be used by several threads.
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
        :param place: the path of ``hub.sock``, or a URL (``http://host:8080``); left out, the hub of this machine
        :param token: of the web port, or the path (``pathlib.Path``) of the file that has it
        :param name: what the hub calls this client where it lists who keeps devices awake; left out, the program's own
        :param wait: whether subscriptions wait for a hub that does not run yet, in place of raising ``HubUnavailable``
        :param reconnect: whether subscriptions come back to a hub that was restarted
        :param timeout: seconds that connecting, and a call's answer, may take
        :param tls: for ``https://``, in place of the system's certificates
        :raises ValueError: if the place makes no sense
        """
        self._core = Core(places.find(place, token, tls), name)
        self._wait, self._reconnect, self._timeout = wait, reconnect, timeout
        self._open: weakref.WeakSet[Subscription[Any]] = weakref.WeakSet()
        self._lock = threading.Lock()
        """Of ``_open``."""

    def states(
        self,
        *,
        rate: float | None = None,
        parts: Iterable[str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Subscription[State]:
        """The fused state as it comes about. Wakes the devices for as long as somebody iterates.

        :param rate: states a second at most, 0.01 to 1000; left out, the board's own rate
        :param parts: the parts of the state that are wanted (``PARTS``): only the devices that these take are woken.
            Parts that other clients have awake may come along. Left out: all
        :param more: other keys, for a hub that is newer than this package. A web port refuses keys that it does not know; a
            socket passes over them
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
        """A fix now and then; the receiver sleeps in between. The first fix comes at once.

        Each state has a ``schedule``, which says how good the fix is. If none was found in time, ``position`` is ``None``.

        :param every: seconds from one fix to the next, 1 to 604800
        :param accuracy: metres, the radius that 95 of 100 fixes must keep, 0.1 to 10000; left out, any fix will do
        :param within: seconds that the receiver may be awake for one fix, 1 to 3600; left out, 60
        :param more: other keys, for a hub that is newer than this package. A web port refuses keys that it does not know; a
            socket passes over them
        """
        return self._subscription(self._core.fixes(every, accuracy, within, more))

    def fence_events(self) -> Subscription[Fence]:
        """The board's fences: each as it is at first, and then whenever its state has changed. Wakes nothing by itself.

        Over HTTP alone.
        """
        return self._subscription(self._core.fence_events())

    def devices(self) -> tuple[Device, ...]:
        """What each device does, why, for whom, and what it has drawn. Wakes nothing."""
        return self._call(self._core.devices())

    def last_state(self) -> State:
        """The last state, however old; its ages count up to now. Wakes nothing. Over HTTP alone."""
        return self._call(self._core.last_state())

    def fences(self) -> tuple[Fence, ...]:
        """The board's fences as they are now. Wakes nothing. Over HTTP alone."""
        return self._call(self._core.fences())

    def holds(self) -> tuple[HeldDevice, ...]:
        """Every hold, the next to end first. Wakes nothing. Over HTTP alone."""
        return self._call(self._core.holds())

    def hold(self, device: str, *, seconds: float = 60) -> Hold:
        """Keeps a device awake without listening to it. Over HTTP alone.

        The hold ends after ``seconds``; as a context manager it lasts until the block is left::

            with hub.hold("gps"):
                ...

        If the program dies, the hold ends by itself within ``seconds``.

        :param seconds: 1 to 86400
        """
        return Hold(self, device, seconds)

    def history(self, start: Moment | None = None, end: Moment | None = None, *, every: float = 10) -> Iterator[State]:
        """The states that were recorded, page by page as the iteration goes. Wakes nothing. Over HTTP alone.

        :param start: left out, an hour before ``end``
        :param end: left out, now
        :param every: seconds; no more than one state in this time, 0 for all
        """
        page = self._call(self._core.history(start, end, every))
        while True:
            yield from page.items
            if page.next is None:
                return
            page = self._call(self._core.next_states(page.next))

    def power_history(self, start: Moment | None = None, end: Moment | None = None) -> Iterator[PowerChange]:
        """When which device's power changed, as it was recorded. Wakes nothing. Over HTTP alone.

        The first changes may be from before ``start``: they tell how it stood then.
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
        """The recorded track as a GPX file. Wakes nothing. Over HTTP alone.

        :param every: seconds; no more than one point in this time, 0 for all
        :param simplify: metres; points that lie within them of the line are left out
        """
        return self._call(self._core.track_gpx(start, end, every, simplify))

    def recordings(self) -> tuple[RecordingFile, ...]:
        """The files of the recorder, the oldest first. Wakes nothing. Over HTTP alone."""
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
    """What a hub says, one value after the other. Iterating over it is the subscription.

    It connects with the first value that is asked for, or where a ``with`` block is entered. It comes back to a hub that was
    restarted. The connection closes, and the hub powers the devices down, when the ``with`` block of it or of its hub is left,
    by ``close()`` (from any thread), with any exception out of a wait (Ctrl-C among them), and when nothing refers to it any
    more: a ``for`` loop over ``hub.states()`` that is left has ended it.
    """

    def __init__(self, call: Call[T], persistence: Persistence, timeout: float) -> None:
        self._call, self._persistence, self._timeout = call, persistence, timeout
        self._closing = threading.Event()
        self._connection: Connection | None = None
        self._conversation: Conversation[T] | None = None
        self._values: list[T] = []

    def next(self, timeout: float | None = None) -> T:
        """The next value.

        :param timeout: seconds to wait for it at most; the connection stays if they are over
        :raises TimeoutError: if none came in time
        :raises StopIteration: after ``close()``
        :raises HubError: if the hub refuses, or does not run at first
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
                # An interrupt among them: nobody is here who would read on.
                self._disconnect()
                raise
            if deadline is not None and not self._values and time.monotonic() >= deadline:
                raise TimeoutError(f"nothing new within {timeout:g} s; sensorhub devices says what each device does")
        return self._values.pop(0)

    def close(self) -> None:
        """Closes the connection: the hub powers the devices down unless others want them."""
        self._closing.set()
        self._disconnect()

    def _proceed(self, deadline: float | None) -> None:
        """Waits for the next bytes."""
        connection, conversation = self._connect()
        if conversation.is_over:
            # Said after the values that came with its end.
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
        # From here on, whatever happens, it is closed.
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
        # An __init__ that has failed leaves nothing to close.
        with suppress(AttributeError):
            self.close()


class Hold:
    """A hold: keeps a device awake for some time, or, as a context manager, until the block is left."""

    def __init__(self, hub: Hub, device: str, seconds: float) -> None:
        self._hub = hub
        ticket = hub._call(hub._core.hold(device, seconds, None))
        self._plan = HoldPlan(device, seconds, ticket)
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def device(self) -> str:
        """The device that it keeps awake."""
        return self._plan.device

    @property
    def id(self) -> str | None:
        """What the hub calls it; ``None`` while the hub knows of none, as it was restarted."""
        return None if self._plan.ticket is None else self._plan.ticket.id

    def prolong(self, seconds: float | None = None) -> HoldTicket:
        """Has the hold last ``seconds`` from now, or as many as at first.

        :raises NotFound: if it is over
        """
        hub, plan = self._hub, self._plan
        ticket = hub._call(hub._core.hold(plan.device, seconds or plan.seconds, self.id))
        plan.prolonged(ticket)
        return ticket

    def release(self) -> None:
        """Ends the hold; does nothing if it is over."""
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
    """A connection to a hub that waits for what it does."""

    def __init__(self, target: Target, timeout: float) -> None:
        """:raises HubError: if the hub cannot be reached"""
        self._target, self._timeout = target, timeout
        self._wire: Wire = target.wire()
        self.was_late = False
        """The last wait ended without a byte."""
        try:
            self._socket = _open(target, timeout)
        except OSError as error:
            raise target.unreachable(error) from error

    def send(self, data: bytes) -> None:
        self._wire.send(data)
        self._flush()

    def receive(self, wait: float | None) -> bytes:
        """The next bytes; empty if the hub has closed the connection.

        :param wait: seconds at most
        :raises HubUnavailable: if none came in time, or the connection is lost
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
        # A thread that waits for this connection wakes, and the hub hears it at once.
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
        # A client whose end has a name has time to say what it wants; everybody else gets everything after 25 ms.
        connection.bind("")
        connection.connect(target.path)
    except BaseException:
        connection.close()
        raise
    return connection
