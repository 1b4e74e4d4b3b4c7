"""Chips on the emulated Pi's I2C: QEMU's own LSM303DLHC and DS1338, and chips behind the module i2c-relay."""

import json
import os
import random
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../suspend"))
from hub import saw  # noqa: E402

PART = "chips on the Pi's I2C"
# Microtesla. QEMU 10.0 takes no negative field.
FIELD = {"x": 20.0, "y": 5.0, "z": 43.0}
STRENGTH = sum(value * value for value in FIELD.values()) ** 0.5
SOCKET = "/run/chips.sock"
ADAPTER = "/sys/bus/i2c/devices/i2c-1"


class Field(threading.Thread):
    """Sets the field around QEMU's LSM303DLHC ten times a second, with a little noise: a value that never changes is no measurement."""

    def __init__(self, machine):
        super().__init__(daemon=True)
        self.machine, self.ended = machine, threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.1):
            for axis, value in FIELD.items():
                # In nanotesla.
                nanotesla = round(1000 * value) + random.choice([-100, 0, 100])
                self.machine.ask("qom-set", path="/machine/peripheral/mag", property=f"mag-{axis}", value=nanotesla)


def devices(machine):
    """The arguments with which QEMU connects the chips to the header's bus."""
    # QEMU has no accelerometer of an LSM303DLHC. This memory has its identity, at both of the places that one register number selects.
    memory = bytearray(512)
    memory[0x0F] = memory[0x10F] = 0x33
    with open(machine.path("accelerometer"), "wb") as file:
        file.write(memory)
    return [
        "-device", "lsm303dlhc_mag,bus=i2c-bus.1,address=0x1e,id=mag", "-device", "ds1338,bus=i2c-bus.1,address=0x68",
        "-blockdev", f"driver=file,filename={machine.path('accelerometer')},node-name=accelerometer",
        "-device", "at24c-eeprom,bus=i2c-bus.1,address=0x19,rom-size=512,address-size=1,drive=accelerometer",
    ]


def measured(machine, device):
    """The mean strength of the field that the hub measures with a board of this one device, in microtesla, and the hub's words."""
    board = {"name": "chips", "devices": {"mag": device | {"rateHz": 10}}, "http": {}}
    machine.ssh(f"cat >chips.json5 <<'END'\n{json.dumps(board)}\nEND")
    printed = machine.ssh(
        f"systemd-run -q --unit=chips -p WorkingDirectory=/root /root/sensorhub run --board chips.json5 --socket {SOCKET};"
        f" for try in $(seq 60); do [ -S {SOCKET} ] && break; sleep 1; done;"
        f" ./sensorhub verify --cycles 1 --seconds 5 --within 60 --json --socket {SOCKET} 2>/dev/null; systemctl stop chips",
        check=False, seconds=300)
    line = next((line for line in printed.splitlines() if line.startswith("{")), None)
    if line is None:
        return None, machine.ssh("journalctl -u chips -n 5 -o cat --no-pager", check=False).strip().replace("\n", "; ")
    device = json.loads(line)["devices"][0]
    field = device["measured"].get("field")
    return field and field["mean"], "; ".join(check["words"] for check in device["checks"])


def kernel_value(machine, name, channel):
    """What the kernel's driver measures, by its file and scale."""
    words = machine.ssh(
        f"for d in /sys/bus/iio/devices/iio:device*; do if grep -qx {name} $d/name; then cat $d/{channel}_raw $d/{channel}_scale; fi; done").split()
    if len(words) < 2:
        raise RuntimeError(f"the kernel has no device {name}")
    return float(words[-2]) * float(words[-1])


def field_is(part, what, strength, words):
    near = strength is not None and abs(strength - STRENGTH) < 1
    saw(part, what, f"{strength:.1f} uT, where QEMU has {STRENGTH:.1f} uT" if strength is not None else f"nothing: {words}", near)


def run(bench):
    machine = bench.machine
    # The chips of other cases would change what these find, so QEMU gets them only now.
    if not machine.devices:
        machine.devices = devices(machine)
        bench.boot_again()
    field = Field(machine)
    try:
        own_bus(machine)
        relay(machine)
    finally:
        field.ended.set()
        machine.devices = []
        machine.ssh("systemctl stop chips i2c-chips 2>/dev/null", check=False)


def own_bus(machine):
    machine.ssh("modprobe i2c-dev; rm -f chips.json5")
    printed = machine.ssh("./sensorhub probe --bus /dev/i2c-1", check=False, seconds=300)
    found = {line.split(": ")[1] for line in printed.splitlines() if line.startswith("/dev/i2c-1: ")}
    for text in sorted(found):
        print(f"  | {text}", flush=True)
    for chip in ["0x1e is LSM303DLHC magnetometer", "0x19 is accelerometer", "0x68 is real-time clock"]:
        saw(PART, f"`probe` says that {chip}", "yes" if any(text.startswith(chip) for text in found) else "no",
            any(text.startswith(chip) for text in found))
    field_is(PART, "the field, by the hub's driver", *measured(machine, {"driver": "lsm303dlhc", "bus": "/dev/i2c-1"}))

    wake = {
        "name": "clock", "devices": {"gps": {"driver": "nmea", "port": "/dev/serial0"}}, "requests": [{"name": "hourly", "every": 3600}],
        "sleep": {"board": "poweroff", "rtc": "/dev/rtc0"}}
    machine.ssh(f"cat >clock.json5 <<'END'\n{json.dumps(wake)}\nEND")

    def warning():
        lines = machine.ssh("./sensorhub check --device clock.json5 2>&1", check=False).splitlines()
        return next((line for line in lines if "/dev/rtc0" in line and "warning" in line), "no warning")

    before = warning()
    saw(PART, "`check` without the clock's driver", before, "there is no /dev/rtc0" in before)
    machine.ssh(f"modprobe -a st_magn_i2c iio-trig-hrtimer; echo lsm303dlhc_magn 0x1e >{ADAPTER}/new_device;"
                f" echo ds1338 0x68 >{ADAPTER}/new_device; udevadm settle")
    strength = sum(kernel_value(machine, "lsm303dlhc_magn", f"in_magn_{axis}") ** 2 for axis in FIELD) ** 0.5 * 100
    field_is(PART, "the field, by the kernel's st_magn", strength, "")
    field_is(PART, "the field, by the hub through st_magn", *measured(
        machine, {"driver": "iio", "kind": "magnetometer", "name": "lsm303dlhc_magn"}))
    off = float(machine.ssh("cat /sys/class/rtc/rtc0/since_epoch")) - time.time()
    saw(PART, "the DS1338 by the kernel's rtc-ds1307, minus the host's clock", f"{off:.0f} s", abs(off) < 30)
    after = warning()
    saw(PART, "`check` with the clock's driver, which has no alarm", after, "cannot wake the board" in after)
    taken = machine.ssh("./sensorhub probe --bus /dev/i2c-1 2>&1", check=False, seconds=300)
    last = " ".join(taken.strip().splitlines()[-2:])
    saw(PART, "the end of `probe` while the kernel drives the chips", last, bool(last) and "wiring" not in last)
    machine.ssh(f"echo 0x1e >{ADAPTER}/delete_device; echo 0x68 >{ADAPTER}/delete_device")


def relay(machine):
    part = "chips behind the relay, on the Pi's kernel"
    module = subprocess.run(
        [os.path.join(HERE, "relay-module"), machine.image], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    subprocess.run(
        ["scp", "-q", "-F", machine.path("ssh_config"), module, os.path.join(HERE, "i2c-chips"), "virtual-pi:"],
        check=True, stdin=subprocess.DEVNULL)
    machine.ssh("insmod relay.ko; systemd-run -q --unit=i2c-chips perl /root/i2c-chips")
    number = machine.ssh(
        "for try in $(seq 60); do n=$(journalctl -u i2c-chips -o cat --no-pager | grep -x '[0-9]*' | tail -n 1); [ -n \"$n\" ] && break;"
        " sleep 1; done; echo $n").strip()
    saw(part, "the bus of the module i2c-relay", f"/dev/i2c-{number}", number.isdigit())
    strength, words = measured(machine, {"driver": "lsm303dlhc", "bus": f"/dev/i2c-{number}"})
    field_is(part, "the field, by the hub's driver", strength, words)
    machine.ssh(f"modprobe -a st_magn_i2c st_accel_i2c; echo lsm303dlhc_magn 0x1e >/sys/bus/i2c/devices/i2c-{number}/new_device;"
                f" echo {number} lsm303dlhc_accel 0x19 >/sys/module/relay/parameters/client; udevadm settle")
    kernel = [kernel_value(machine, "lsm303dlhc_magn", f"in_magn_{axis}") * 100 for axis in FIELD]
    saw(part, "the axes, by the kernel's st_magn", ", ".join(f"{value:.1f} uT" for value in kernel),
        all(abs(value - wanted) < 0.5 for value, wanted in zip(kernel, [20, -5, 43])))
    gravity = kernel_value(machine, "lsm303dlhc_accel", "in_accel_z")
    saw(part, "gravity, by the kernel's st_accel", f"{gravity:.2f} m/s2", abs(gravity - 9.81) < 0.05)
    machine.ssh("systemctl stop i2c-chips", check=False)
