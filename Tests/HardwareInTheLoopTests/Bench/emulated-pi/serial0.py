"""The header's UART by its name /dev/serial0, with and without Bluetooth, and as the kernel's console."""

import json
import os
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../suspend"))
from hub import HUB, Stream, saw  # noqa: E402

PART = "/dev/serial0"
FIRMWARE = "/boot/firmware"
# On a Raspberry Pi, the rules of raspberrypi-sys-mods follow the firmware's aliases. Debian's device tree has no such aliases.
RULE = "/etc/udev/rules.d/98-serial0.rules"
QUIET = "console=tty1 root=/dev/mmcblk0 rootwait"


def run(bench):
    machine = bench.machine
    bench.in_service()
    try:
        receivers_and_logins(bench)
    finally:
        # The next cases need the header's port again.
        machine.ssh(
            f"rm -f {RULE}; sed -i /disable-bt/d {FIRMWARE}/config.txt; echo dtoverlay=disable-bt >>{FIRMWARE}/config.txt;"
            f" echo '{QUIET}' >{FIRMWARE}/cmdline.txt; {board_file('/dev/ttyAMA0')}; rm /etc/sensorhub/kept.json5")
        bench.boot_again()
    port = machine.ssh("ls /dev/ttyAMA0 2>&1; cat /boot/firmware/config.txt /proc/cmdline", check=False)
    saw(PART, "the port for the next cases, config.txt and the command line", " ".join(port.split()), port.startswith("/dev/ttyAMA0\n"))


def receivers_and_logins(bench):
    machine = bench.machine
    receiver_at(bench, "with disable-bt", "/dev/ttyAMA0")
    # A card that has only I2C enabled: Bluetooth has the PL011, and the kernel prints on the header's small UART. The service's board
    # file does not name that UART yet, because the service ends a login on a port of its own.
    machine.ssh(
        f"echo 'KERNEL==\"ttyS1\", SYMLINK+=\"serial0\"' >{RULE}; sed -i /disable-bt/d {FIRMWARE}/config.txt;"
        f" echo 'console=serial0,115200 {QUIET}' >{FIRMWARE}/cmdline.txt; {board_file('/dev/ttyAMA0')}")
    bench.boot_again()
    with_bluetooth(bench)
    console(bench)
    service_ends_login(bench)
    # The next step that `check` printed.
    machine.ssh("raspi-config nonint do_serial_cons 1 && raspi-config nonint do_serial_hw 0")
    bench.boot_again()
    # At 9600 baud QEMU 10.0's small UART hears nothing until something is sent: it takes the high byte of the divisor (0x14) for the
    # interrupts that are enabled. At 115200 baud this byte (0x01) enables the receiver's interrupt.
    receiver_at(bench, "while Bluetooth has the PL011", "/dev/ttyS1", speed=115200)


def check(machine, port):
    board = {"name": "port", "devices": {"gps": {"driver": "nmea", "port": port, "speed": 9600}}}
    machine.ssh(f"cat >port.json5 <<'END'\n{json.dumps(board)}\nEND")
    lines = machine.ssh("./sensorhub check --device port.json5 2>&1", check=False).splitlines()
    return next((line for line in lines if "gps:" in line), "no warning")


def board_file(port, speed=9600):
    """The command that gives the service the board file it has been deployed with, with this port and speed for the header's receiver."""
    return (
        "b=$(readlink -f /etc/sensorhub/board.json5); [ -e /etc/sensorhub/kept.json5 ] || cp $b /etc/sensorhub/kept.json5;"
        f""" sed 's|"/dev/ttyAMA0", "speed": 9600|"{port}", "speed": {speed}|' /etc/sensorhub/kept.json5 >$b""")


def receiver_at(bench, what, port, speed=9600):
    """The hub reads a receiver by the name /dev/serial0."""
    machine = bench.machine
    leads = machine.ssh("readlink -f /dev/serial0").strip()
    saw(PART, f"{what}: leads to", leads, leads == port)
    warning = check(machine, "/dev/serial0")
    saw(PART, f"{what}: `check`", warning, warning == "no warning")
    machine.ssh(f"{board_file('/dev/serial0', speed)}; systemctl restart sensorhub", seconds=300)
    bench.booted_again()
    before = len(machine.receivers["gps"].fixes)
    states = Stream(machine, f"{HUB} watch --json")
    end, device = time.monotonic() + 120, {}
    while time.monotonic() < end and device.get("power") != "tracking":
        time.sleep(1)
        device = bench.hub.device("gps")
    fixes = len(machine.receivers["gps"].fixes) - before
    saw(PART, f"{what}: the receiver", f"{device.get('power')} ({device.get('title', '')}), {fixes} fixes sent", device.get("power") == "tracking")
    if device.get("power") != "tracking":
        changes = [f"{at - machine.booted_at:.1f} s {line} {level}" for at, line, level in machine.lines.changes if at > machine.booted_at]
        print(f"  | lines since the start of QEMU: {', '.join(changes)}")
        print(machine.ssh("cat /proc/tty/driver/serial /proc/tty/driver/ttyAMA; grep -i uart /proc/interrupts", check=False), flush=True)
    states.end()
    bench.await_lines(0, 60)


def with_bluetooth(bench):
    """The PL011 belongs to Bluetooth's driver, so programs have no file for it."""
    machine = bench.machine
    driver = machine.ssh(
        "tr -d '\\0' </sys/bus/serial/devices/serial0-0/modalias; ls /dev/ttyAMA0 2>&1", check=False).split("\n")
    saw(PART, "the device at the PL011, and the PL011's file", "; ".join(line for line in driver if line),
        any("bluetooth" in line for line in driver) and "/dev/ttyAMA0" not in driver)
    warning = check(machine, "/dev/ttyAMA0")
    saw(PART, "`check` of a board file with /dev/ttyAMA0 then", warning, 'port: "/dev/serial0"' in warning)


def console(bench):
    """The kernel prints on /dev/serial0, and a login waits there."""
    machine = bench.machine
    # The login starts towards the end of the boot.
    machine.ssh("systemctl is-system-running --wait", check=False, seconds=600)
    leads = machine.ssh("readlink -f /dev/serial0").strip()
    getty = machine.ssh("systemctl is-active serial-getty@ttyS1", check=False).strip()
    saw(PART, "on a fresh card: leads to", f"{leads}, where the login is {getty}", leads == "/dev/ttyS1" and getty == "active")
    wanted = ["/dev/ttyS1", "serial-getty@ttyS1.service", "raspi-config nonint do_serial_cons 1"]
    warning = check(machine, "/dev/serial0")
    saw(PART, "`check` says that it is a console", warning, all(word in warning for word in wanted))
    said = machine.ssh("./sensorhub probe --port /dev/serial0 2>&1 | grep '^/dev/serial0'", check=False, seconds=300).strip()
    saw(PART, "`probe` says that it is a console", said.replace("\n", "; "), all(word in said for word in wanted))
    # login(1) takes the port from the group dialout, so that the service's user may not open it. The getty starts it once it has
    # read a line, for example a receiver's sentence. Until then the user may open the port, and the hub's warning remains.
    command = "stat -L -c '%U:%G %a' /dev/serial0"
    before = machine.ssh(command).strip()
    printed = machine.ssh(
        "chmod 644 port.json5; cp port.json5 /run/; cp sensorhub /run/another-hub; cd /run; systemd-run -q --unit=port --wait --pipe -p DynamicUser=yes"
        " -p SupplementaryGroups=dialout -p ProcSubset=pid -p RuntimeDirectory=port /run/another-hub run --board /run/port.json5"
        " --socket /run/port/state.sock 2>&1 & for try in $(seq 60); do [ -S /run/port/state.sock ] && break; sleep 1; done;"
        " timeout 10 /run/another-hub watch --socket /run/port/state.sock >/run/watched 2>&1; systemctl stop port; wait", check=False, seconds=300)
    after = machine.ssh(command).strip()
    lines = printed.splitlines()
    warned = next((line for line in lines if "for a login" in line), "no warning")
    saw(PART, "a hub on the login's port warns", warned, all(word in warned for word in wanted))
    if warned == "no warning":
        print(f"  | {printed}", flush=True)
    if not may_open(before) and not may_open(after):
        refused = next((line for line in lines if "terminal of a login" in line), printed.strip()[-200:])
        saw(PART, "the hub may not open the port", refused, "do_serial_cons 1" in refused)
    else:
        saw(PART, "the port's mode before and after the hub", f"{before}; {after}")


def may_open(mode):
    """Whether the service's group may open a port with this owner, group and mode: `root:dialout 660`."""
    return ":dialout " in mode and mode[-2] in "67"


def service_ends_login(bench):
    """A service whose board file names the login's port ends the login at its start, and warns about the kernel's messages."""
    machine = bench.machine
    mark = bench.mark()
    machine.ssh(f"{board_file('/dev/serial0')}; systemctl restart sensorhub", seconds=300)
    bench.booted_again()
    getty = machine.ssh("systemctl is-active serial-getty@ttyS1", check=False).strip()
    saw(PART, "the login after the service has started on its port", getty, getty == "inactive")
    warned = next((line for line in bench.journal(mark) if "kernel prints" in line), "no warning")
    saw(PART, "the service's warning", warned, "do_serial_cons 1" in warned)
