"""Tests of the asyncio client with a real hub."""

import asyncio
import gc
import unittest
from collections.abc import Callable, Coroutine
from typing import Any

from sensorhub_client import AccessDenied, AsyncHub, AsyncSubscription, HubUnavailable, NotFound, RequestRefused, State

from .running import HubTestCase, eventually, needs_hub


async def meanwhile(condition: Callable[[], bool]) -> bool:
    """Waits for an event outside this process, while the event loop runs."""
    return await asyncio.to_thread(eventually, condition)


@needs_hub
class PowerTests(HubTestCase):
    """Listening wakes the requested devices, and each way of leaving lets them sleep."""

    def run_at_each(self, body: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        for place in (self.hub.socket, self.hub.url):
            asyncio.run(body(place), debug=True)
            self.assertSleeps()

    def test_a_loop_wakes_the_devices_and_leaving_it_lets_them_sleep(self) -> None:
        async def body(place: str) -> None:
            wakes = self.hub.device("gps")["wakes"]
            async for _ in AsyncHub(place).states(rate=50, parts=["attitude"]):
                self.assertTrue(self.hub.is_awake("imu"))
                break
            self.assertTrue(await meanwhile(self.hub.is_off))
            self.assertEqual(self.hub.device("gps")["wakes"], wakes)

        self.run_at_each(body)

    def test_leaving_a_block_closes_its_subscriptions(self) -> None:
        async def body(place: str) -> None:
            async with AsyncHub(place) as hub, hub.states() as states:
                self.assertTrue(await meanwhile(lambda: self.hub.is_awake("gps") and self.hub.is_awake("imu")))
                self.assertIsInstance(await states.next(), State)
            self.assertTrue(await meanwhile(self.hub.is_off))
            with self.assertRaises(StopAsyncIteration):
                await states.next()
            async with AsyncHub(place) as hub:
                first = hub.states()
                await anext(first)
            self.assertTrue(await meanwhile(self.hub.is_off))

        self.run_at_each(body)

    def test_a_cancelled_task_closes_and_a_later_request_connects_again(self) -> None:
        async def body(place: str) -> None:
            states = AsyncHub(place).states(parts=["attitude"])

            async def listen() -> None:
                async for _ in states:
                    pass

            task = asyncio.create_task(listen())
            self.assertTrue(await meanwhile(lambda: self.hub.is_awake("imu")))
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertTrue(await meanwhile(self.hub.is_off))
            self.assertIsInstance(await anext(states), State)

        self.run_at_each(body)

    def test_an_exception_closes(self) -> None:
        async def body(place: str) -> None:
            with self.assertRaises(ZeroDivisionError):
                async with AsyncHub(place) as hub:
                    async for _ in hub.states():
                        1 / 0  # noqa: B018
            self.assertTrue(await meanwhile(self.hub.is_off))

        self.run_at_each(body)

    def test_garbage_collection_closes_with_and_without_a_loop(self) -> None:
        left: list[AsyncSubscription[State]] = []

        async def body(place: str) -> None:
            states = AsyncHub(place).states()
            await anext(states)
            self.assertFalse(self.hub.is_off("gps", "imu"))
            del states
            gc.collect()
            self.assertTrue(await meanwhile(self.hub.is_off))
            left.append(AsyncHub(place).states())
            await anext(left[0])

        for place in (self.hub.socket, self.hub.url):
            asyncio.run(body(place))
            self.assertFalse(self.hub.is_off("gps", "imu"))
            left.clear()
            gc.collect()
            self.assertSleeps()

    def test_another_task_may_close(self) -> None:
        async def body(place: str) -> None:
            states = AsyncHub(place).states(parts=["attitude"])

            async def count() -> int:
                return len([state async for state in states])

            task = asyncio.create_task(count())
            self.assertTrue(await meanwhile(lambda: self.hub.is_awake("imu")))
            states.close()
            self.assertGreaterEqual(await task, 0)
            self.assertTrue(await meanwhile(self.hub.is_off))

        self.run_at_each(body)

    def test_waits_with_a_limit_keep_the_connection(self) -> None:
        async def body(place: str) -> None:
            async with AsyncHub(place).fixes(every=600) as fixes:
                self.assertIsNotNone((await fixes.next()).schedule)
                for _ in range(2):
                    with self.assertRaisesRegex(TimeoutError, "nothing new within 0.05 s"):
                        await fixes.next(timeout=0.05)
                (gps,) = [device for device in await AsyncHub(place).devices() if device.id == "gps"]
                self.assertEqual(len(gps.schedules), 1)

        self.run_at_each(body)

    def test_many_subscriptions_share_one_loop(self) -> None:
        async def body(place: str) -> None:
            async with AsyncHub(place) as hub:
                states = [hub.states(rate=20, parts=["attitude"]) for _ in range(10)]
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(anext(one)) for one in states]
                self.assertEqual(len(tasks), 10)

        self.run_at_each(body)

    def test_holds(self) -> None:
        async def body(place: str) -> None:
            if place == self.hub.socket:
                return
            hub = AsyncHub(place)
            before = self.hub.device("gps")["onSeconds"]
            async with await hub.hold("gps", seconds=3) as hold:
                self.assertTrue(await meanwhile(lambda: self.hub.device("gps")["onSeconds"] > before + 4))
                self.assertEqual([held.device for held in await hub.holds()], [hold.device])
            self.assertEqual(await hub.holds(), ())

        self.run_at_each(body)

    def test_looking_wakes_no_device(self) -> None:
        async def body(place: str) -> None:
            hub = AsyncHub(place)
            wakes = [self.hub.device(id)["wakes"] for id in ("gps", "imu")]
            self.assertEqual([device.id for device in await hub.devices()], ["gps", "imu"])
            if place == self.hub.url:
                await hub.last_state()
                self.assertEqual((await hub.holds(), await hub.fences()), ((), ()))
                with self.assertRaisesRegex(NotFound, "records nothing"):
                    await hub.recordings()
                with self.assertRaises(NotFound):
                    _ = [state async for state in hub.history()]
            self.assertEqual([self.hub.device(id)["wakes"] for id in ("gps", "imu")], wakes)

        self.run_at_each(body)


@needs_hub
class RefusalTests(HubTestCase):
    token = "0123456789abcdef"

    def test_tokens_and_keys(self) -> None:
        async def body() -> None:
            self.assertEqual(len(await AsyncHub(self.hub.url, token=self.hub.token_file).devices()), 2)
            with self.assertRaisesRegex(AccessDenied, "refuses this token"):
                await anext(AsyncHub(self.hub.url, token="fedcba9876543210", wait=True).states())
            with self.assertRaisesRegex(RequestRefused, "did you mean 'rate'"):
                await anext(AsyncHub(self.hub.url, token=self.token).states(more={"rat": 1}))
            with self.assertRaisesRegex(RequestRefused, "attitude"):
                await anext(AsyncHub(self.hub.socket).states(more={"parts": ["nonsense"]}))

        asyncio.run(body(), debug=True)
        self.assertTrue(self.hub.is_off())


@needs_hub
class RestartTests(HubTestCase):
    def test_a_client_comes_back_to_a_hub_that_was_restarted(self) -> None:
        async def body(place: str) -> None:
            async with AsyncHub(place).states(parts=["attitude"]) as states:
                await states.next()
                self.hub.stop()
                self.hub.start()
                while self.hub.device("imu")["wakes"] == 0:
                    await states.next()

        for place in (self.hub.socket, self.hub.url):
            with self.assertLogs("sensorhub_client", "WARNING") as logs:
                asyncio.run(body(place))
            self.assertRegex(logs.output[-1], "the hub is back")
            self.assertSleeps()

    def test_a_wait_for_a_hub_that_does_not_run_can_be_cancelled(self) -> None:
        async def body(place: str) -> None:
            with self.assertRaises(HubUnavailable):
                await anext(AsyncHub(place).states())

            async def wait() -> None:
                async with AsyncHub(place, wait=True).states():
                    pass

            with self.assertLogs("sensorhub_client", "WARNING") as logs:
                task = asyncio.create_task(wait())
                # After the first failed attempt, however long a busy machine takes for it.
                self.assertTrue(await meanwhile(lambda: bool(logs.output)))
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task

        self.hub.stop()
        for place in (self.hub.socket, self.hub.url):
            asyncio.run(body(place))
        self.hub.start()


if __name__ == "__main__":
    unittest.main()
