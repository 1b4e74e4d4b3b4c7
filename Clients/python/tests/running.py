"""A real hub on simulated devices, for the tests that need one."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

PROGRAM = os.environ.get("SENSORHUB_PROGRAM", "")
"""The hub's executable."""

LIMIT = 120.0
"""The longest wait in seconds for an event outside this process, on a busy machine."""

needs_hub = unittest.skipUnless(PROGRAM, "SENSORHUB_PROGRAM names no hub")


def eventually(condition: Callable[[], bool]) -> bool:
    """Waits for an event outside this process; returns whether it happened."""
    deadline, pause = time.monotonic() + LIMIT, 0.001
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return condition()


def free_port() -> int:
    """An unused port outside the range that the kernel gives to clients. Other programs may open many while a hub starts."""
    while True:
        port = random.randrange(5_000, 10_000)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


class RunningHub:
    """A hub with a receiver and an inertial sensor, which are off unless a client needs them."""

    def __init__(self, *, sections: str = "", token: str = "") -> None:
        """
        :param sections: further sections of the board file
        :param token: the token of the web port
        """
        self.folder = Path(tempfile.mkdtemp(prefix="sensorhub-python-"))
        self.socket = str(self.folder / "hub.sock")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.token_file = self.folder / "token"
        self.token_file.write_text(token + "\n")
        secret = f', tokenFile: "{self.token_file}"' if token else ""
        power = 'power: { switch: "gpio", chip: "simulated", line: "%s", settleMilliseconds: 20, lingerSeconds: 0.2 }'
        self.board = self.folder / "board.json5"
        self.board.write_text(
            f"""{{ name: "test", motion: "vehicle",
              devices: {{ gps: {{ driver: "nmea", port: "simulated/gps", {power % "gps-power"} }},
                imu: {{ driver: "mpu-6050", bus: "simulated/i2c", {power % "imu-power"} }} }},
              http: {{ port: {port}{secret} }}, {sections} }}"""
        )
        self.program: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        # The hub ends with the thread that started it, so call this on the main thread.
        command = ["setpriv", "--pdeathsig", "KILL", PROGRAM, "run", "--socket", self.socket, "--board", str(self.board)]
        with open(self.folder / "log", "ab") as log:
            start = log.tell()
            self.program = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "STATE_DIRECTORY": str(self.folder / "state")},
            )  # fmt: skip
        assert eventually(lambda: self._is_ready(start) or self._has_ended()) and not self._has_ended(), self.log
        return self

    def _has_ended(self) -> bool:
        return self.program is not None and self.program.poll() is not None

    def _is_ready(self, start: int) -> bool:
        log = (self.folder / "log").read_bytes()[start:]
        return b"state on " in log and b"dashboard on " in log

    def stop(self) -> None:
        if self.program is None:
            return
        self.program.send_signal(signal.SIGTERM)
        status, self.program = self.program.wait(LIMIT), None
        assert status == 0, f"the hub ended with {status}: {self.log}"

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def device(self, id: str) -> dict[str, Any]:
        """The hub's report of a device, read without the client under test."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.folder / "devices.sock"))
            text = b"".join(iter(lambda: connection.recv(65536), b""))
        found: dict[str, Any] = next(device for device in json.loads(text)["devices"] if device["id"] == id)
        return found

    def is_awake(self, id: str) -> bool:
        return self.device(id)["power"] in ("settling", "acquiring", "tracking", "awake") and self.device(id)["holders"] != []

    def is_off(self, *ids: str) -> bool:
        return all(self.device(id)["power"] == "off" for id in ids or ("gps", "imu"))


class HubTestCase(unittest.TestCase):
    """Tests that share one hub per class. Each test must leave the hub with its devices off."""

    sections = ""
    token = ""
    hub: RunningHub

    @classmethod
    def setUpClass(cls) -> None:
        cls.hub = RunningHub(sections=cls.sections, token=cls.token).start()
        cls.addClassCleanup(cls.hub.remove)

    def assertEventually(self, condition: Callable[[], bool]) -> None:
        self.assertTrue(eventually(condition), self.hub.log)

    def assertSleeps(self, *ids: str) -> None:
        self.assertEventually(lambda: self.hub.is_off(*ids))
