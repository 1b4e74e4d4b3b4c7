"""The hub on an emulated Raspberry Pi 3: how the cases put it into service, and how they look at it from outside."""

import json
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../suspend"))
from hub import HUB, RECORDINGS, Hub, saw, wait_until  # noqa: E402

BOOT_LIMIT = int(os.environ.get("PI_BOOT_LIMIT", "600"))
ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../.."))
LINGER = {"gps": 2.0, "cable": 1.0}
STATE = "/var/lib/sensorhub"


class Bench:
    def __init__(self, machine, executable):
        self.machine, self.executable = machine, executable
        self.hub = None
        self.cable_port = None
        self.package = self.repository = None

    def boot(self):
        began = time.monotonic()
        self.machine.start()
        self.machine.await_ssh(BOOT_LIMIT)
        return time.monotonic() - began

    def boot_again(self, has_hub=True):
        """Restarts the Pi, whose firmware then reads the card again, and QEMU its arguments."""
        began, machine = time.monotonic(), self.machine
        before = machine.restarts
        machine.ssh("systemctl reboot", check=False)
        machine.until_restarted(before, BOOT_LIMIT)
        if self.hub and has_hub:
            self.booted_again()
        return time.monotonic() - began

    def deploy(self, *arguments):
        done = subprocess.run(
            [f"{ROOT}/deploy.sh", "-F", self.machine.path("ssh_config"), "virtual-pi", "--executable", self.executable, *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"deploy.sh ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def board(self):
        """Receivers on the header's UART and on a cable, each with its own line; each is needed for a fused state."""
        ports = {"gps": "/dev/ttyAMA0", "cable": self.cable_port}
        return {
            "name": "emulated Pi",
            "devices": {
                name: {
                    "driver": "nmea",
                    "port": ports[name],
                    "speed": 9600,
                    "power": {
                        "switch": "gpio", "chip": "pinctrl-bcm2835", "line": f"GPIO{self.machine.lines.BITS[name]}",
                        "settleMilliseconds": 100, "currentMilliamperes": 35, "lingerSeconds": LINGER[name],
                    },
                }
                for name in ["gps", "cable"]
            },
            "state": {"rateHz": 2},
            "http": {},
            "record": {"path": RECORDINGS, "syncSeconds": 1},
        }

    def find_cable(self):
        # After a boot, ssh may answer before udev has named the cable.
        names = self.machine.ssh("for try in $(seq 60); do ls /dev/serial/by-path/*usb* 2>/dev/null && break; sleep 1; done").split()
        if not names:
            raise RuntimeError("the kernel does not see the cable")
        self.cable_port = names[0]

    def in_service(self):
        """Puts the hub into service, once."""
        if self.hub:
            return
        self.find_cable()
        with open(self.machine.path("board.json5"), "w", encoding="utf-8") as file:
            json.dump(self.board(), file)
        # The steps of deploy.sh, without its copying, which takes minutes here.
        files = [f"systemd/{name}" for name in ["sensorhub.service", "sensorhub.sysusers", "sensorhub.tmpfiles", "sensorhub-policy.service", "activate"]]
        paths = [f"{ROOT}/{file}" for file in [*files, "udev/60-sensorhub.rules"]] + [self.machine.path("board.json5")]
        self.machine.ssh("mkdir -p release && cp -f sensorhub release/")
        subprocess.run(
            ["scp", "-q", "-F", self.machine.path("ssh_config"), *paths, "virtual-pi:/root/release/"], check=True, stdin=subprocess.DEVNULL)
        began = time.monotonic()
        printed = self.machine.ssh("sh release/activate install bench 2>&1", seconds=300)
        warnings = [line.strip() for line in printed.splitlines() if "warning" in line]
        saw("emulated Pi", "in service", f"in {time.monotonic() - began:.0f} s; {'; '.join(warnings) or 'no warning'}", not warnings)
        self.hub = Hub(self.machine)
        self.hub.until_ready(60)

    def booted_again(self):
        """A hub after the machine has started again; its port leads through another connection."""
        self.hub = Hub(self.machine)
        self.hub.until_ready(BOOT_LIMIT)

    def lines(self):
        return "".join(str(self.machine.lines.levels[name]) for name in ["gps", "cable"])

    def await_lines(self, level, seconds):
        """Whether both lines have this level at the same moment, within a time."""
        return wait_until(lambda: self.lines() == f"{level}{level}", seconds)

    def powers(self, hub, seconds=60):
        """What the devices do: as soon as all of them have a position, or after a time."""
        end, powers = time.monotonic() + seconds, {}
        while time.monotonic() < end and set(powers.values()) != {"tracking"}:
            powers = {name: hub.device(name)["power"] for name in LINGER}
            time.sleep(0.5)
        return powers

    def process(self):
        """Open files, threads and megabytes of the hub."""
        out = self.machine.ssh(
            "p=$(systemctl show -p MainPID --value sensorhub); ls /proc/$p/fd | wc -l; sed -n 's/^Threads:[^0-9]*//p;s/^VmRSS:[^0-9]*//p' /proc/$p/status")
        files, resident, threads = [int(re.match(r"\d+", line).group()) for line in out.split("\n") if line.strip()]
        return files, threads, resident / 1024

    def journal(self, since):
        """The service's messages since a mark that `mark` has returned."""
        return self.machine.ssh(f"journalctl -u sensorhub -o cat --no-pager --after-cursor='{since}'", check=False).splitlines()

    def mark(self):
        out = self.machine.ssh("journalctl -n 0 --show-cursor --no-pager -q")
        return out.strip().removeprefix("-- cursor: ")


def recordings_are_whole(bench, part, hub=HUB):
    """Whether all recordings are whole while no client needs a device, so that none is being written. The hub repairs a file that a cut
    has left when it starts."""
    end, cut = time.monotonic() + 120, [""]
    while cut and time.monotonic() < end:
        files = json.loads(bench.machine.ssh(f"{hub} info --json {RECORDINGS}", seconds=300))["files"]
        cut = [os.path.basename(file["path"]) for file in files if not file["whole"]]
    saw(part, "recordings that are whole", f"{len(files) - len(cut)} of {len(files)}" + (f"; cut: {', '.join(cut)}" if cut else ""),
        bool(files) and not cut)
    return files


def energy_log_of(machine):
    """The energy in each device's energy log, as the file has it; fails if it is damaged."""
    text = machine.ssh(f"cat {STATE}/power.json")
    devices = json.loads(text)["devices"]
    return {name: sum(sum(hour.values()) for hour in device["hours"].values()) for name, device in devices.items()}
