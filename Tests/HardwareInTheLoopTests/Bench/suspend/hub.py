"""The hub on a machine of QEMU, observed from outside: its web port, its commands, and their output."""

import calendar
import json
import subprocess
import threading
import time
import urllib.request

HUB = "/opt/sensorhub/current/sensorhub"
RECORDINGS = "/var/lib/sensorhub/recordings"
failures = []


def saw(part, what, printed, holds=None):
    verdict = "" if holds is None else " | right" if holds else " | WRONG"
    print(f"kernel saw | {part} | {what} | {printed}{verdict}", flush=True)
    if holds is False:
        failures.append(f"{part}: {what}: {printed}")


class Stream(threading.Thread):
    """The JSON lines of a command on the machine, with the host's times of their arrival."""

    def __init__(self, machine, command):
        super().__init__(daemon=True)
        self.values = []  # (host's monotonic time, host's UTC, object)
        self.process = subprocess.Popen(
            ["ssh", "-F", machine.path("ssh_config"), machine.NAME, command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.start()

    def run(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                self.values.append((time.monotonic(), time.time(), json.loads(line)))

    def since(self, monotonic):
        return [value for value in list(self.values) if value[0] >= monotonic]

    def wait(self, fits, seconds, since=0.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for value in self.since(since):
                if fits(value[2]):
                    return value
            time.sleep(0.05)
        return None

    def end(self):
        self.process.terminate()
        self.process.wait()


class Hub:
    def __init__(self, machine):
        self.machine = machine
        self.port = machine.forward()

    def get(self, path, method="GET", seconds=30):
        request = urllib.request.Request(f"http://localhost:{self.port}{path}", method=method)
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return json.load(answer)

    def device(self, name):
        return next(device for device in self.get("/devices")["devices"] if device["id"] == name)

    def due(self, every):
        """The host's monotonic time at which the next fix is due."""
        return self.plan(every)[0]

    def plan(self, every):
        """The host's monotonic times at which the next fix is due, and at which the hub wakes the receiver for it."""
        before = time.monotonic()
        schedules = self.device("gps").get("schedules", [])
        now = (before + time.monotonic()) / 2
        schedules = [schedule for schedule in schedules if schedule["everySeconds"] == every]
        due = min(schedule["dueInSeconds"] for schedule in schedules)
        wakes = min(schedule.get("wakesInSeconds", schedule["dueInSeconds"]) for schedule in schedules)
        return now + due, now + wakes

    def try_devices(self):
        """The devices; None if the machine does not answer because it is about to sleep."""
        try:
            return self.get("/devices", seconds=5)
        except (OSError, ValueError):
            return None

    def plan_if_answered(self, every):
        """The host's monotonic time at which the next fix is due; None if the machine does not answer at once."""
        before = time.monotonic()
        answer = self.try_devices()
        now = time.monotonic()
        if answer is None or now - before > 1:
            return None
        gps = next(device for device in answer["devices"] if device["id"] == "gps")
        due = self.due_in(gps, every)
        return (before + now) / 2 + due if due is not None else None

    @staticmethod
    def due_in(device, every):
        """The seconds until the device's next fix is due; None if it has no fixes with this interval."""
        dues = [schedule["dueInSeconds"] for schedule in device.get("schedules", []) if schedule["everySeconds"] == every]
        return min(dues, default=None)

    def wait_for_fix(self, after, seconds):
        """The first state with a fix after this UTC; None if there is none in time. Asking wakes no device."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                state = self.get("/state", seconds=5)
            except (OSError, ValueError):
                state = {}
            if "position" in state and fix_time(state) > after:
                return state
            time.sleep(0.1)
        return None

    def until_ready(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                self.get("/devices")
                return
            except (OSError, ValueError):
                time.sleep(0.2)
        raise RuntimeError("the hub's web port does not answer")


def wait_for_level(machine, line, level, seconds):
    return wait_until(lambda: machine.lines.levels[line] == level, seconds)


def wait_until(holds, seconds):
    """Whether a condition holds within a time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.01)
    return False


def fix_time(state):
    """The UTC of a state's fix; 0 if it has none."""
    return utc(state.get("fix", {}).get("time", "1970-01-01T00:00:00Z"))


def utc(text):
    whole, _, rest = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + (rest or "0"))
