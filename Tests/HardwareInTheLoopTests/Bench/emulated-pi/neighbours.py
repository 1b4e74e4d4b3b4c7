"""ModemManager and brltty, which look for their devices on serial ports and USB, next to the hub on the emulated Pi."""

import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../suspend"))
from hub import HUB, Stream, saw  # noqa: E402

PART = "next to ModemManager and brltty"
PACKAGES = ["modemmanager", "brltty"]
RULES = "/etc/udev/rules.d/60-sensorhub.rules"
HEARD = "/root/heard"
# A receiver's USB identity that the rules name (u-blox), and ModemManager's own rules do not. All devices of this manufacturer are
# modems to it, unless a rule says otherwise. The kernel's driver of FTDI's cables, if it is loaded first, takes 0502 and 0503 as its own.
RECEIVER = ("1546", "01a4")


def prepare(machine):
    """Writes the packages to the card."""
    done = subprocess.run(
        [os.path.join(HERE, "debian-files"), machine.image, *PACKAGES], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
    folder = done.stdout.strip()
    machine.put_files("packages", [os.path.join(folder, name) for name in sorted(os.listdir(folder))])


def run(bench):
    bench.in_service()
    machine = bench.machine
    if not machine.ssh("systemctl list-unit-files --no-legend ModemManager.service", check=False).strip():
        machine.ssh("DEBIAN_FRONTEND=noninteractive dpkg -i packages/*.deb >/tmp/dpkg 2>&1 || { tail /tmp/dpkg; false; }", seconds=1800)
    # The five seconds that brltty gives itself are too short for an emulated processor. Debian's brltty 6.7 crashes when it has tried
    # all drivers of displays in turn, so this list has those that look at FTDI's cables. QEMU 10.0 may run stale code of a page of a
    # file: ModemManager and iconv then crash in glibc's UTF-16 module, whose content is right, until the kernel reads the file again.
    machine.ssh(
        "for unit in brltty ModemManager; do mkdir -p /run/systemd/system/$unit.service.d;"
        " printf '[Service]\\nTimeoutStartSec=600\\n' >/run/systemd/system/$unit.service.d/slow.conf; done; systemctl daemon-reload;"
        " systemctl stop brltty; echo 'braille-driver at,ce,hd,hm,ht,md' >>/etc/brltty.conf;"
        " systemctl restart polkit; for try in $(seq 60); do echo 3 >/proc/sys/vm/drop_caches; systemctl reset-failed ModemManager;"
        " systemctl start ModemManager; mmcli -G DEBUG >/tmp/mmcli 2>&1 && break; sleep 2; done",
        check=False, seconds=900)
    try:
        cable_that_brltty_takes(bench)
        header_and_cable(bench)
        receiver_with_usb(bench)
    finally:
        # brltty would take the cable in the following cases too.
        machine.ssh(f"systemctl disable --now ModemManager brltty 2>/dev/null; mv /root/kept.rules {RULES} 2>/dev/null; udevadm control --reload",
                    check=False, seconds=600)


def cable_that_brltty_takes(bench):
    """brltty takes the cable from the kernel while a client needs the receiver. What the hub advises then helps."""
    machine = bench.machine
    states = Stream(machine, f"{HUB} watch --json")
    states.wait(lambda state: "position" in state, 90)
    machine.ssh("systemctl start brltty", seconds=900)
    end, step = time.monotonic() + 120, ""
    while time.monotonic() < end and "brltty" not in step:
        step = " ".join(condition.get("nextStep", "") for condition in bench.hub.device("cable").get("conditions", []))
        time.sleep(1)
    active = machine.ssh("systemctl is-active ModemManager brltty", check=False).split()
    saw(PART, "ModemManager and brltty", ", ".join(active), active == ["active", "active"])
    if active != ["active", "active"]:
        for unit in ["ModemManager", "polkit", "brltty"]:
            print(machine.ssh(f"journalctl -b --no-pager -u {unit} | head -n 20; journalctl -b --no-pager -k -g {unit} | tail -n 5", check=False))
    ports = machine.ssh("ls /dev/ttyUSB* 2>/dev/null", check=False).split()
    saw(PART, "ports of the cable after brltty has looked at it", ", ".join(ports) or "none", not ports)
    saw(PART, "what the hub advises", step or "nothing", "brltty" in step)
    other = bench.hub.device("gps")
    told = "; ".join(condition["summary"] for condition in other.get("conditions", []))
    saw(PART, "the receiver at the header", other["power"] + (f": {told}" if told else ""), other["power"] == "tracking")
    command = re.search(r"sudo (systemctl disable --now brltty)", step)
    machine.ssh(command.group(1) if command else "systemctl disable --now brltty", check=False)
    machine.unplug()
    time.sleep(2)
    machine.plug()
    plugged, power = time.monotonic(), ""
    while time.monotonic() < plugged + 60 and power != "tracking":
        power = bench.hub.device("cable")["power"]
        time.sleep(0.5)
    saw(PART, "the receiver at the cable after that", f"{power} {time.monotonic() - plugged:.1f} s after the plug", power == "tracking")
    states.end()
    bench.await_lines(0, 60)


def holders(machine, pattern):
    """The programs that have such a file open."""
    found = machine.ssh(
        f"for fd in /proc/[0-9]*/fd/*; do case $(readlink $fd) in {pattern}) p=${{fd#/proc/}}; cat /proc/${{p%%/*}}/comm;; esac; done | sort -u",
        check=False)
    return found.split()


def header_and_cable(bench):
    """A receiver at the header and one at an FTDI cable, of which no rule knows that they are receivers."""
    machine = bench.machine
    before = {name: len(receiver.commands) for name, receiver in machine.receivers.items()}
    machine.unplug()
    time.sleep(2)
    machine.plug()
    # ModemManager waits before it looks at a new device.
    time.sleep(60)
    sent = {name: len(receiver.commands) - before[name] for name, receiver in machine.receivers.items()}
    saw(PART, "bytes sent to the receivers at the header and at the cable while no client needs them",
        f"{sent['gps']} and {sent['cable']}", not any(sent.values()))
    driver = machine.ssh("basename $(readlink /sys/class/tty/ttyUSB0/device/driver)", check=False).strip()
    saw(PART, "the cable's driver", driver, driver == "ftdi_sio")
    others = [name for name in holders(machine, "/dev/ttyUSB*|/dev/ttyAMA*|/dev/bus/usb/*") if name != "sensorhub"]
    saw(PART, "programs that have a port or a USB device open", ", ".join(others) or "none", not others)
    lines = machine.ssh("journalctl -u ModemManager -b -o cat --no-pager | grep -E 'tty/tty(AMA0|USB0).*filtered' | tail -n 2", check=False)
    print("\n".join(f"  | {line}" for line in lines.splitlines()))
    states = Stream(machine, f"{HUB} watch --json")
    state = states.wait(lambda state: "position" in state, 90)
    end, powers = time.monotonic() + 60, {}
    while time.monotonic() < end and set(powers.values()) != {"tracking"}:
        powers = {name: bench.hub.device(name)["power"] for name in ["gps", "cable"]}
        time.sleep(1)
    saw(PART, "the hub's receivers", ", ".join(f"{name} {power}" for name, power in powers.items()),
        bool(state) and set(powers.values()) == {"tracking"})
    states.end()
    bench.await_lines(0, 60)


def receiver_with_usb(bench):
    """A receiver with its own USB interface, which is a modem by its class, with the project's rule and without it."""
    machine = bench.machine
    subprocess.run(
        ["scp", "-q", "-F", machine.path("ssh_config"), os.path.join(HERE, "usb-receiver"), "virtual-pi:"], check=True, stdin=subprocess.DEVNULL)
    commands, words = plugged(machine, has_rule=False)
    saw(PART, "commands to a receiver with USB, without the project's rule", f"{commands}; {words}", commands > 0)
    commands, words = plugged(machine, has_rule=True)
    saw(PART, "commands to a receiver with USB, with the project's rule", f"{commands}; {words}",
        commands == 0 and "/dev/sensorhub/gps is /dev/ttyACM0" in words)


def plugged(machine, has_rule):
    """The number of modem commands that the receiver got in 45 s, and what `probe` says of its port."""
    place = f"mv {RULES} /root/kept.rules 2>/dev/null" if not has_rule else f"mv /root/kept.rules {RULES} 2>/dev/null"
    machine.ssh(f"{place}; udevadm control --reload; rm -f {HEARD}; systemctl reset-failed usb-receiver 2>/dev/null;"
                f" systemd-run -q --unit=usb-receiver perl /root/usb-receiver {' '.join(RECEIVER)} {HEARD}", check=False, seconds=300)
    machine.ssh("for try in $(seq 90); do [ -e /dev/ttyACM0 ] && break; sleep 1; done; udevadm settle", check=False, seconds=300)
    time.sleep(15)
    said = machine.ssh("timeout 60 ./sensorhub probe --port /dev/ttyACM0 2>&1 | grep '^/dev/ttyACM0'", check=False, seconds=90).strip()
    time.sleep(30)
    name = machine.ssh("readlink -f /dev/sensorhub/gps", check=False).strip()
    # The port echoes what arrives before a program has set it up, so only modem commands count.
    commands = machine.ssh(f"tr '\\r' '\\n' <{HEARD} | grep -c '^AT'", check=False).strip()
    machine.ssh("systemctl stop usb-receiver; for try in $(seq 20); do [ -e /dev/ttyACM0 ] || break; sleep 1; done", check=False)
    return int(commands or 0), f"/dev/sensorhub/gps is {name or 'missing'}; `probe`: {said}"
