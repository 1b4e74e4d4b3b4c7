"""Tests of the blocking client with a real hub."""

import gc
import os
import signal
import subprocess
import sys
import threading
import unittest
from pathlib import Path

from sensorhub_client import AccessDenied, Hub, HubUnavailable, NotFound, Record, RequestRefused, State

from .running import HubTestCase, RunningHub, needs_hub


def unknown(record: object) -> list[str]:
    """The keys that the client did not know, in a record and in all objects inside it."""
    if isinstance(record, (tuple, list)):
        return [key for one in record for key in unknown(one)]
    if isinstance(record, dict):
        return [key for one in record.values() for key in unknown(one)]
    if not isinstance(record, Record):
        return []
    inner = [getattr(record, name) for name in type(record).__dataclass_fields__ if name != "extra"]
    return [*record.extra, *unknown(inner)]


@needs_hub
class PowerTests(HubTestCase):
    """Listening wakes the requested devices, and each way of leaving lets them sleep."""

    def places(self) -> list[str]:
        return [self.hub.socket, self.hub.url]

    def test_a_loop_wakes_the_devices_and_leaving_it_lets_them_sleep(self) -> None:
        for place in self.places():
            wakes = self.hub.device("gps")["wakes"]
            for state in Hub(place, name="level").states(rate=50, parts=["attitude"]):
                self.assertTrue(self.hub.is_awake("imu"))
                if state.attitude:
                    self.assertEqual(unknown(state), [])
                    break
            self.assertSleeps("imu")
            self.assertEqual(self.hub.device("gps")["wakes"], wakes)
        self.assertIn(f"level[{os.getpid()}] (attitude)", self.hub.log)

    def test_leaving_a_block_closes_its_subscriptions(self) -> None:
        for place in self.places():
            with Hub(place) as hub, hub.states() as states:
                self.assertEventually(lambda: self.hub.is_awake("gps") and self.hub.is_awake("imu"))
                self.assertIsInstance(states.next(), State)
            self.assertSleeps()
            with self.assertRaises(StopIteration):
                states.next()
            with Hub(place) as hub:
                first = hub.states()
                next(first)
            self.assertSleeps()

    def test_an_exception_closes(self) -> None:
        for place in self.places():
            with self.assertRaises(ZeroDivisionError), Hub(place) as hub:
                for _ in hub.states():
                    1 / 0  # noqa: B018
            self.assertSleeps()

    def test_garbage_collection_closes(self) -> None:
        for place in self.places():
            states = Hub(place).states()
            next(states)
            self.assertFalse(self.hub.is_off("gps", "imu"))
            del states
            gc.collect()
            self.assertSleeps()

    def test_another_thread_may_close(self) -> None:
        for place in self.places():
            states = Hub(place).states(parts=["attitude"])
            counts: list[int] = []
            thread = threading.Thread(target=lambda: counts.append(sum(1 for _ in states)))
            thread.start()
            self.assertEventually(lambda: self.hub.is_awake("imu"))
            states.close()
            thread.join()
            self.assertEqual(len(counts), 1)
            self.assertSleeps()

    def test_an_interrupt_closes(self) -> None:
        code = (
            "import sys, time; from sensorhub_client import Hub; states = Hub(sys.argv[1]).states(parts=['attitude'])\n"
            "try:\n  for _ in states: pass\nexcept KeyboardInterrupt: print('interrupted', flush=True); input()"
        )
        for place in self.places():
            program = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", sys.executable, "-c", code, place], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )  # fmt: skip
            assert program.stdin and program.stdout
            self.assertEventually(lambda: self.hub.is_awake("imu"))
            program.send_signal(signal.SIGINT)
            self.assertEqual(program.stdout.readline(), b"interrupted\n")
            # The client still runs, and a variable still refers to the subscription.
            self.assertSleeps()
            program.communicate(b"\n")

    def test_fixes_wake_the_receiver_now_and_then(self) -> None:
        for place in self.places():
            with Hub(place).fixes(every=600, accuracy=50, within=60) as fixes:
                fix = fixes.next()
                assert fix.schedule and fix.position
                self.assertEqual((fix.schedule.every, fix.schedule.accuracy, unknown(fix)), (600, 50, []))
                self.assertEventually(lambda: self.hub.is_off("gps", "imu"))
                (gps,) = [device for device in Hub(place).devices() if device.id == "gps"]
                self.assertEqual([schedule.every_seconds for schedule in gps.schedules], [600])
            self.assertSleeps()

    def test_a_wait_may_time_out_and_the_next_wait_continues(self) -> None:
        with Hub(self.hub.socket).fixes(every=600) as fixes:
            fixes.next()
            for _ in range(2):
                with self.assertRaisesRegex(TimeoutError, "nothing new within 0.05 s"):
                    fixes.next(timeout=0.05)
            (gps,) = [device for device in Hub(self.hub.socket).devices() if device.id == "gps"]
            self.assertEqual(len(gps.schedules), 1)
        self.assertSleeps()

    def test_looking_wakes_no_device(self) -> None:
        hub = Hub(self.hub.url)
        wakes = [self.hub.device(id)["wakes"] for id in ("gps", "imu")]
        devices = hub.devices()
        self.assertEqual([device.id for device in devices], ["gps", "imu"])
        self.assertEqual([device.is_awake for device in devices], [False, False])
        self.assertEqual(unknown(devices), [])
        self.assertEqual(unknown(Hub(self.hub.socket).devices()), [])
        self.assertEqual(unknown(hub.last_state()), [])
        self.assertEqual((hub.holds(), hub.fences()), ((), ()))
        self.assertEqual([self.hub.device(id)["wakes"] for id in ("gps", "imu")], wakes)


@needs_hub
class RefusalTests(HubTestCase):
    token = "0123456789abcdef"

    def test_a_token_opens_the_web_port(self) -> None:
        self.assertEqual(len(Hub(self.hub.url, token=self.token).devices()), 2)
        self.assertEqual(len(Hub(self.hub.url, token=self.hub.token_file).devices()), 2)

    def test_a_wrong_token_and_a_missing_token_have_different_errors(self) -> None:
        for token, message in ((None, "pass token="), ("fedcba9876543210", "refuses this token; compare")):
            hub = Hub(self.hub.url, token=token, wait=True)
            with self.assertRaisesRegex(AccessDenied, message):
                hub.devices()
            with self.assertRaisesRegex(AccessDenied, message):
                next(hub.states())
            with self.assertRaisesRegex(AccessDenied, message):
                hub.hold("gps")
        self.assertTrue(self.hub.is_off())

    def test_a_wrong_key_is_refused_and_wakes_nothing(self) -> None:
        hub = Hub(self.hub.url, token=self.token)
        with self.assertRaisesRegex(RequestRefused, "did you mean 'rate'"):
            next(hub.states(more={"rat": 1}))
        with self.assertRaisesRegex(RequestRefused, "attitude"):
            next(Hub(self.hub.socket).states(more={"parts": ["nonsense"]}))
        with self.assertRaisesRegex(TypeError, "rateHz"):
            hub.states(rateHz=1)  # type: ignore[call-arg]
        self.assertTrue(self.hub.is_off())

    def test_a_missing_device_or_hold_is_not_found(self) -> None:
        hub = Hub(self.hub.url, token=self.token)
        with self.assertRaisesRegex(NotFound, "no device 'radar'; valid ones are gps, imu"):
            hub.hold("radar")
        with self.assertRaisesRegex(NotFound, "records nothing"):
            list(hub.history())


@needs_hub
class RestartTests(HubTestCase):
    def tearDown(self) -> None:
        self.hub.stop()

    def setUp(self) -> None:
        self.hub.stop()

    def test_without_a_hub_the_client_says_how_to_start_one(self) -> None:
        for place, message in ((self.hub.socket, "start it"), (self.hub.url, "does it run")):
            with self.assertRaisesRegex(HubUnavailable, message):
                next(Hub(place).states())
            with self.assertRaisesRegex(HubUnavailable, message), Hub(place).states():
                pass

    def test_a_client_may_wait_for_its_hub(self) -> None:
        for place in (self.hub.socket, self.hub.url):
            values: list[State] = []
            states = Hub(place, wait=True).states(parts=["attitude"])
            with self.assertLogs("sensorhub_client", "WARNING"):
                thread = threading.Thread(target=lambda: values.append(states.next()))  # noqa: B023
                thread.start()
                self.hub.start()
                thread.join()
            self.assertEqual(len(values), 1)
            states.close()
            self.assertSleeps()
            self.hub.stop()

    def test_a_client_comes_back_to_a_hub_that_was_restarted(self) -> None:
        for place in (self.hub.socket, self.hub.url):
            self.hub.start()
            with self.assertLogs("sensorhub_client", "WARNING") as logs, Hub(place).states(parts=["attitude"]) as states:
                states.next()
                self.hub.stop()
                self.hub.start()
                self.assertEqual(self.hub.device("imu")["wakes"], 0)
                while self.hub.device("imu")["wakes"] == 0:
                    states.next()
            self.assertRegex(logs.output[-1], "the hub is back")
            self.assertSleeps()
            self.hub.stop()

    def test_a_client_that_must_not_reconnect_says_that_the_hub_is_gone(self) -> None:
        self.hub.start()
        with Hub(self.hub.socket, reconnect=False).states() as states:
            states.next()
            self.hub.stop()
            with self.assertRaisesRegex(HubUnavailable, "closed the connection"):
                while True:
                    states.next()


@needs_hub
class HoldTests(HubTestCase):
    def test_a_hold_lasts_as_long_as_its_block(self) -> None:
        hub = Hub(self.hub.url)
        with hub.hold("gps", seconds=3) as hold:
            self.assertEventually(lambda: self.hub.is_awake("gps"))
            first = hold.id
            self.assertEventually(lambda: self.hub.device("gps")["onSeconds"] > 4)
            (held,) = hub.holds()
            self.assertEqual((held.device, hold.id, unknown(held)), ("gps", first, []))
        self.assertEqual(hub.holds(), ())
        self.assertSleeps()

    def test_a_hold_without_a_block_is_prolonged_and_released_by_hand(self) -> None:
        hub = Hub(self.hub.url)
        hold = hub.hold("imu", seconds=60)
        self.assertGreater(hold.prolong(600).seconds, 500)
        hold.release()
        hold.release()
        self.assertSleeps()

    def test_a_hold_comes_back_to_a_hub_that_was_restarted(self) -> None:
        with Hub(self.hub.url).hold("imu", seconds=3) as hold:
            first = hold.id
            self.hub.stop()
            self.hub.start()
            self.assertEventually(lambda: hold.id not in (None, first))
            self.assertEventually(lambda: self.hub.is_awake("imu"))
        self.assertSleeps()


@needs_hub
class HistoryTests(HubTestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.hub = RunningHub()
        text = cls.hub.board.read_text()
        record = f'record: {{ path: "{cls.hub.folder}/recordings", syncSeconds: 1 }} }}'
        cls.hub.board.write_text(text.rstrip().removesuffix("}") + record)
        cls.hub.start()
        cls.addClassCleanup(cls.hub.remove)

    def test_received_states_are_in_the_history(self) -> None:
        hub = Hub(self.hub.url)
        with hub.states(rate=10) as states:
            # More than one point, because a track has no segment of one point.
            live = [state for state, _ in zip((one for one in states if one.position and one.time), range(15))][-1]
        self.assertSleeps()
        self.assertEventually(lambda: any(state.position for state in hub.history(every=0)))
        found = list(hub.history(every=0))
        self.assertEqual(unknown(found), [])
        self.assertTrue(all(state.time for state in found))
        assert live.time
        self.assertEqual(list(hub.history(end=live.time.timestamp() - 3600)), [])
        self.assertEventually(lambda: "off" in [change.power for change in hub.power_history() if change.id == "gps"])
        self.assertEqual(unknown(list(hub.power_history())), [])
        self.assertIn(b"<trkpt ", hub.track_gpx())
        self.assertEqual((len(hub.recordings()), unknown(hub.recordings())), (1, []))


@needs_hub
class FenceTests(HubTestCase):
    sections = "fences: { home: { circle: [52.5163, 13.3777, 5000] }, far: { circle: [10, 10, 100] } }"

    def test_fences_say_on_which_side_the_board_is(self) -> None:
        hub = Hub(self.hub.url)
        sides: dict[str, str] = {}
        for fence in hub.fence_events():
            self.assertEqual(unknown(fence), [])
            sides[fence.name] = fence.state
            if sides == {"home": "inside", "far": "outside"}:
                break
        fences = hub.fences()
        self.assertEqual({fence.name: fence.state for fence in fences}, sides)
        self.assertEqual(unknown(fences), [])
        self.assertEqual([fence.circle for fence in fences if fence.name == "home"], [(52.5163, 13.3777, 5000)])


@needs_hub
class ExampleTests(HubTestCase):
    """Each example runs, prints what it should, and lets the devices sleep when it is interrupted."""

    examples = Path(__file__).parents[1] / "examples"

    def run_until(self, name: str, expected: str, *arguments: str, lines: int = 1, **environment: str) -> None:
        for place in (self.hub.socket, self.hub.url):
            with self.subTest(name, place=place):
                program = subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", sys.executable, "-u", self.examples / name, *arguments, place],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment},
                )  # fmt: skip
                assert program.stdout
                count, heard = 0, ""
                while count < lines and (line := program.stdout.readline()):
                    heard += line
                    count += expected in line
                program.send_signal(signal.SIGINT)
                _, errors = program.communicate()
                self.assertEqual(count, lines, heard + errors)
                self.assertIn("KeyboardInterrupt", errors)
                self.assertSleeps()

    def test_live_position(self) -> None:
        self.run_until("live_position.py", "52.5", lines=2)

    def test_fix_every_ten_minutes(self) -> None:
        self.run_until("fix_every_ten_minutes.py", "good")

    def test_anchor_alarm(self) -> None:
        self.run_until("anchor_alarm.py", "DRAGGING", RADIUS="1", EVERY="1")

    def test_attitude_50hz(self) -> None:
        self.run_until("attitude_50hz.py", "pitch", lines=100)

    def test_record_to_csv(self) -> None:
        for place in (self.hub.socket, self.hub.url):
            file = self.hub.folder / "track.csv"
            program = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", sys.executable, self.examples / "record_to_csv.py", file, place],
                stderr=subprocess.PIPE,
            )  # fmt: skip
            self.assertEventually(lambda: file.exists() and file.read_text().count("\n") > 3)
            program.send_signal(signal.SIGINT)
            program.communicate()
            rows = [line.split(",") for line in file.read_text().splitlines()]
            self.assertEqual(rows[0], ["time", "latitude", "longitude", "metres a second"])
            self.assertTrue(all(row[1].startswith("52.5") for row in rows[1:]), rows)
            file.unlink()
            self.assertSleeps()


if __name__ == "__main__":
    unittest.main()
