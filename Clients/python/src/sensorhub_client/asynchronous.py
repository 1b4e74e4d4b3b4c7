"""The client for asyncio."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import weakref
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
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


class AsyncHub:
    """A hub, for programs with asyncio.

    ::

        async with AsyncHub() as hub:
            async for state in hub.states(rate=2, parts=["position"]):
                print(state.position)

    This object has no connection of its own: each call and each subscription opens one. Leaving the ``async with`` block closes
    all subscriptions, so the hub can power the devices down. The calls are those of ``Hub``, where they are described.
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
        """The parameters are those of ``Hub``."""
        self._core = Core(places.find(place, token, tls), name)
        self._wait, self._reconnect, self._timeout = wait, reconnect, timeout
        self._open: weakref.WeakSet[AsyncSubscription[Any]] = weakref.WeakSet()

    def states(
        self,
        *,
        rate: float | None = None,
        parts: Iterable[str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> AsyncSubscription[State]:
        """The fused state, again and again (``Hub.states``)."""
        return self._subscription(self._core.states(rate, parts, more))

    def fixes(
        self,
        *,
        every: float,
        accuracy: float | None = None,
        within: float | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> AsyncSubscription[State]:
        """Fixes at intervals; the receiver sleeps in between (``Hub.fixes``)."""
        return self._subscription(self._core.fixes(every, accuracy, within, more))

    def fence_events(self) -> AsyncSubscription[Fence]:
        """The board's fences: each once at first, and then at each change (``Hub.fence_events``)."""
        return self._subscription(self._core.fence_events())

    async def devices(self) -> tuple[Device, ...]:
        """The devices with their power, holders and energy (``Hub.devices``)."""
        return await self._call(self._core.devices())

    async def last_state(self) -> State:
        """The last state, however old it is (``Hub.last_state``)."""
        return await self._call(self._core.last_state())

    async def fences(self) -> tuple[Fence, ...]:
        """The board's fences as they are now (``Hub.fences``)."""
        return await self._call(self._core.fences())

    async def holds(self) -> tuple[HeldDevice, ...]:
        """All holds (``Hub.holds``)."""
        return await self._call(self._core.holds())

    async def hold(self, device: str, *, seconds: float = 60) -> AsyncHold:
        """Keeps a device awake without listening to it (``Hub.hold``)::

            async with await hub.hold("gps"):
                ...
        """
        ticket = await self._call(self._core.hold(device, seconds, None))
        return AsyncHold(self, HoldPlan(device, seconds, ticket))

    async def history(
        self, start: Moment | None = None, end: Moment | None = None, *, every: float = 10
    ) -> AsyncIterator[State]:
        """The recorded states (``Hub.history``)."""
        page = await self._call(self._core.history(start, end, every))
        while True:
            for state in page.items:
                yield state
            if page.next is None:
                return
            page = await self._call(self._core.next_states(page.next))

    async def power_history(
        self, start: Moment | None = None, end: Moment | None = None
    ) -> AsyncIterator[PowerChange]:
        """The recorded changes of the devices' power (``Hub.power_history``)."""
        page = await self._call(self._core.power_history(start, end))
        while True:
            for change in page.items:
                yield change
            if page.next is None:
                return
            page = await self._call(self._core.next_changes(page.next))

    async def track_gpx(
        self, start: Moment | None = None, end: Moment | None = None, *, every: float = 1, simplify: float = 0
    ) -> bytes:
        """The recorded track as a GPX file (``Hub.track_gpx``)."""
        return await self._call(self._core.track_gpx(start, end, every, simplify))

    async def recordings(self) -> tuple[RecordingFile, ...]:
        """The files of the recorder (``Hub.recordings``)."""
        return await self._call(self._core.recordings())

    def close(self) -> None:
        """Closes all subscriptions."""
        for subscription in list(self._open):
            subscription.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _subscription(self, call: Call[T]) -> AsyncSubscription[T]:
        persistence = Persistence(wait=self._wait, reconnect=self._reconnect)
        subscription = AsyncSubscription(call, persistence, self._timeout)
        self._open.add(subscription)
        return subscription

    async def _call(self, call: Call[T]) -> T:
        conversation = call.begin()
        connection = AsyncConnection(call.target(), self._timeout)
        try:
            await connection.open()
            await connection.send(conversation.request)
            while True:
                data = await connection.receive(max(self._timeout, conversation.silence or 0))
                for value in conversation.receive(data) if data else conversation.end():
                    return value
        finally:
            connection.close()


class AsyncSubscription(Generic[T]):
    """The values that a hub sends, one after the other. Iterating over this object is the subscription.

    The connection opens when the first value is requested, or at the beginning of an ``async with`` block. If the hub
    restarts, the subscription connects again. The connection closes, and the hub can power the devices down, in each of these
    cases:

    - the ``async with`` block of the subscription or of its hub ends;
    - ``close()`` is called;
    - the task that waits for a value is cancelled, or the wait ends with another exception;
    - nothing refers to the subscription any more.

    After a cancelled wait, the next request for a value connects again.
    """

    def __init__(self, call: Call[T], persistence: Persistence, timeout: float) -> None:
        self._call, self._persistence, self._timeout = call, persistence, timeout
        self._closing = asyncio.Event()
        self._connection: AsyncConnection | None = None
        self._conversation: Conversation[T] | None = None
        self._values: list[T] = []

    async def next(self, timeout: float | None = None) -> T:
        """The next value.

        :param timeout: the longest wait in seconds; after a timeout the connection stays open
        :raises TimeoutError: if no value arrived in time
        :raises StopAsyncIteration: after ``close()``
        :raises HubError: if the hub refuses the request, or does not run at the first attempt
        """
        clock = asyncio.get_running_loop().time
        deadline = None if timeout is None else clock() + timeout
        while not self._values:
            if self._closing.is_set():
                raise StopAsyncIteration
            try:
                await self._proceed(None if deadline is None else max(0.0, deadline - clock()))
            except HubError as error:
                self._disconnect()
                if self._closing.is_set():
                    raise StopAsyncIteration from None
                delay = self._persistence.failed(error)
                await self._pause(delay if deadline is None else min(delay, max(0.0, deadline - clock())))
            except BaseException:
                # This includes a cancellation: no task is left that would read from the connection.
                self._disconnect()
                raise
            if deadline is not None and not self._values and clock() >= deadline:
                raise TimeoutError(f"nothing new within {timeout:g} s; sensorhub devices says what each device does")
        return self._values.pop(0)

    def close(self) -> None:
        """Closes the connection. The hub powers the devices down unless other clients need them."""
        self._closing.set()
        self._disconnect()

    async def _proceed(self, left: float | None) -> None:
        """Waits for the next bytes."""
        connection, conversation = await self._connect()
        if conversation.is_over:
            # The conversation is over, and its values have been delivered.
            conversation.end()
        silence = conversation.silence
        wait = silence if left is None else left if silence is None else min(left, silence)
        try:
            data = await connection.receive(wait)
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

    async def _connect(self) -> tuple[AsyncConnection, Conversation[T]]:
        if self._connection is not None and self._conversation is not None:
            return self._connection, self._conversation
        conversation = self._call.begin()
        connection = AsyncConnection(self._call.target(), self._timeout)
        # From here on the connection is closed in any case.
        self._connection, self._conversation = connection, conversation
        await connection.open()
        await connection.send(conversation.request)
        if conversation.is_accepted:
            self._persistence.served()
        return connection, conversation

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    def _disconnect(self) -> None:
        connection, self._connection, self._conversation = self._connection, None, None
        if connection is not None:
            connection.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        return await self.next()

    async def __aenter__(self) -> Self:
        while not self._closing.is_set():
            try:
                await self._connect()
                break
            except HubError as error:
                self._disconnect()
                await self._pause(self._persistence.failed(error))
            except BaseException:
                self._disconnect()
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # If __init__ failed, there is nothing to close. No task waits for this object, because such a task would refer to it.
        with suppress(AttributeError):
            self._disconnect()


class AsyncHold:
    """A hold: keeps a device awake for some time, or, as a context manager, until the end of the block."""

    def __init__(self, hub: AsyncHub, plan: HoldPlan) -> None:
        self._hub, self._plan = hub, plan
        self._task: asyncio.Task[None] | None = None

    @property
    def device(self) -> str:
        """The device that the hold keeps awake."""
        return self._plan.device

    @property
    def id(self) -> str | None:
        """The id of the hold at the hub; ``None`` while the hub has no such hold, because it was restarted."""
        return None if self._plan.ticket is None else self._plan.ticket.id

    async def prolong(self, seconds: float | None = None) -> HoldTicket:
        """Prolongs the hold, so that it lasts ``seconds`` from now; by default as long as at first.

        :raises NotFound: if the hold is over
        """
        hub, plan = self._hub, self._plan
        ticket = await hub._call(hub._core.hold(plan.device, seconds or plan.seconds, self.id))
        plan.prolonged(ticket)
        return ticket

    async def release(self) -> None:
        """Ends the hold. Does nothing if the hold is over."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
        ticket, self._plan.ticket = self._plan.ticket, None
        if ticket is not None:
            with suppress(NotFound):
                await self._hub._call(self._hub._core.release(ticket))

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._keep(), name=f"hold on {self.device}")
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.release()
        except HubError as problem:
            logger.warning("the hold on %s ends by itself within %g s: %s", self.device, self._plan.seconds, problem)

    async def _keep(self) -> None:
        hub, plan = self._hub, self._plan
        pause = plan.pause
        while True:
            await asyncio.sleep(pause)
            try:
                pause = plan.prolonged(await hub._call(hub._core.hold(plan.device, plan.seconds, self.id)))
            except HubError as error:
                pause = plan.failed(error)


class AsyncConnection:
    """A connection to a hub. Other tasks run while it waits.

    This is a plain socket instead of asyncio's transport. A transport closes only in the next turn of the event loop, which may
    never come.
    """

    def __init__(self, target: Target, timeout: float) -> None:
        self._target, self._timeout = target, timeout
        self._wire: Wire = target.wire()
        self._socket: socket.socket | None = None
        self._is_waiting = False
        self._is_closed = False
        self.was_late = False
        """Whether the last wait ended without a byte."""

    async def open(self) -> None:
        """:raises HubError: if the hub cannot be reached"""
        try:
            async with asyncio.timeout(self._timeout):
                await self._connect()
        except OSError as error:
            raise self._target.unreachable(error) from error

    async def send(self, data: bytes) -> None:
        self._wire.send(data)
        await self._flush()

    async def receive(self, wait: float | None) -> bytes:
        """The next bytes; empty if the hub has closed the connection.

        :param wait: the longest wait in seconds
        :raises HubUnavailable: if no bytes arrived in time, or the connection is lost
        """
        self.was_late = False
        try:
            async with asyncio.timeout(wait):
                while True:
                    data = await self._receive()
                    if not data:
                        return b""
                    said = self._wire.receive(data)
                    await self._flush()
                    if said:
                        return said
        except TimeoutError as error:
            self.was_late = True
            raise HubUnavailable(
                f"the hub at {self._target} has been silent for {wait:g} s", "is the network up?"
            ) from error
        except OSError as error:
            raise self._target.unreachable(error) from error

    def close(self) -> None:
        self._is_closed = True
        if self._socket is None:
            return
        # The hub notices this at once. A task that waits for this connection wakes, and closes the socket.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        if not self._is_waiting:
            self._socket.close()

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        if self._target.path:
            # The hub waits 250 ms for the request of a client whose end has a name. Other clients get all parts after 25 ms.
            return await self._try(socket.AF_UNIX, self._target.path, bind="")
        found = await loop.getaddrinfo(self._target.host, self._target.port, type=socket.SOCK_STREAM)
        last: OSError = OSError("the name has no address")
        for family, _, _, _, address in found:
            try:
                return await self._try(family, address)
            except OSError as error:
                last = error
        raise last

    async def _try(self, family: int, address: Any, bind: str | None = None) -> None:
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            if bind is not None:
                connection.bind(bind)
            await asyncio.get_running_loop().sock_connect(connection, address)
            if self._is_closed:
                raise ConnectionAbortedError("closed while it was opened")
        except BaseException:
            connection.close()
            raise
        self._socket = connection

    async def _receive(self) -> bytes:
        """Waits until there are bytes, and then reads them without another wait, so a cancelled wait loses no bytes."""
        connection = self._socket
        if connection is None or self._is_closed:
            return b""
        loop = asyncio.get_running_loop()
        descriptor = connection.fileno()
        while True:
            try:
                return connection.recv(_CHUNK)
            except (BlockingIOError, InterruptedError):
                pass
            readable = loop.create_future()
            loop.add_reader(descriptor, lambda: None if readable.done() else readable.set_result(None))
            self._is_waiting = True
            try:
                await readable
            finally:
                loop.remove_reader(descriptor)
                self._is_waiting = False
                if self._is_closed:
                    connection.close()
            if self._is_closed:
                return b""

    async def _flush(self) -> None:
        data = self._wire.outgoing()
        if not data or self._socket is None:
            return
        try:
            async with asyncio.timeout(self._timeout):
                await asyncio.get_running_loop().sock_sendall(self._socket, data)
        except OSError as error:
            raise self._target.unreachable(error) from error
