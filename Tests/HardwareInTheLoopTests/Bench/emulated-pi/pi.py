"""An emulated Raspberry Pi 3: receivers on its PL011 and on an FTDI cable, power lines read from the SoC's registers."""

import os
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../suspend"))
from machine import Lines, Machine  # noqa: E402

# GPLEV0 of the BCM2837: the levels of GPIO0 to GPIO31, whatever drives them (BCM2835 ARM Peripherals, section 6.1).
LEVELS = 0x3F200034


class Registers(Lines):
    """The levels of the power lines in the SoC's register, which QEMU reads twenty times a second."""

    NAMES = ["gps", "cable"]
    BITS = {"gps": 17, "cable": 27}

    def __init__(self):
        super().__init__()
        # The reason why the levels are no longer read although the machine runs. Rows after that show nothing.
        self.failure = None

    def follow(self, machine):
        process = machine.process
        try:
            while process.poll() is None:
                now, word = time.monotonic(), machine.register(LEVELS)
                for name, bit in self.BITS.items():
                    level = (word >> bit) & 1
                    if self.levels[name] != level:
                        self.levels[name] = level
                        self.changes.append((now, name, level))
                time.sleep(0.05)
        except Exception as error:  # the machine may end at any moment, and then nothing answers
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                self.failure = error
        # Without its supply, a Pi drives no line.
        self.levels = dict.fromkeys(self.NAMES, 0)


class Pi(Machine):
    # The name that the other lanes' scripts use.
    NAME = "virtual-pi"
    SOCKETS = ["gps", "cable"]
    LINES = Registers
    CABLE_SWITCH = "/sys/bus/usb/devices/1-1:1.0/1-1-port2/disable"

    def __init__(self, image, folder, emulator, memory="1G"):
        self.emulator, self.memory = emulator, memory
        self.always_supplied = False
        self.plugged = True
        self.restarts = 0
        self.was_cut = False
        # Whether a restart boots the newest kernel that is installed on the card, as a Pi's firmware does.
        self.updates_kernel = False
        self.boot_files = {}
        self.devices = []  # further arguments of QEMU
        self.kernel, self.initrd, self.device_tree = (f"{image}/{name}" for name in ["kernel", "initrd", "device-tree"])
        super().__init__(image, folder, "tcg")

    def supplied(self, name):
        return (self.always_supplied or self.lines.levels[name]) and (name != "cable" or self.plugged)

    def card_file(self, path):
        done = subprocess.run(
            ["debugfs", "-R", f"cat {path}", self.path("card")], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done.stdout

    def take_kernel_from_card(self):
        """Boots from now on the kernel, its initial RAM disk and its device tree that Debian's links name."""
        def dump(path, name):
            subprocess.run(
                ["debugfs", "-R", f"dump {path} {self.path(name)}", self.path("card")], stdin=subprocess.DEVNULL, capture_output=True, check=True)
            if not os.path.getsize(self.path(name)):
                raise RuntimeError(f"there is no {path} on the card")
            return self.path(name)

        def link(path):
            done = subprocess.run(
                ["debugfs", "-R", f"stat {path}", self.path("card")], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
            return "/" + done.stdout.split('Fast link dest: "')[1].split('"')[0].lstrip("/")

        kernel = link("/vmlinuz")
        self.kernel = dump(kernel, "kernel")
        self.initrd = dump(link("/initrd.img"), "initrd")
        version = kernel.split("vmlinuz-")[1]
        self.device_tree = dump(f"/usr/lib/linux-image-{version}/broadcom/bcm2837-rpi-3-b.dtb", "newer-device-tree")

    def enable_interfaces(self):
        """Writes the result of the README's first step to the card: the header's UART is free, and I2C is on."""
        files = {
            "cmdline.txt": "console=tty1 root=/dev/mmcblk0 rootwait\n",
            "config.txt": "dtparam=i2c_arm=on\n[all]\ndtoverlay=disable-bt\nenable_uart=1\n",
        }
        commands = "cd /boot/firmware\n"
        for name, text in files.items():
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
            commands += f"rm {name}\nwrite {self.path(name)} {name}\n"
        subprocess.run(
            ["debugfs", "-w", "-f", "/dev/stdin", self.path("card")], input=commands, capture_output=True, text=True, check=True)

    def put_executable(self, executable):
        """Writes the hub's executable to the card: over the emulated USB, copying takes minutes."""
        self.put(f"cd /root\nwrite {executable} sensorhub\nset_inode_field sensorhub mode 0100755\n")

    def put_files(self, folder, paths):
        """Writes files into a new folder of the user root."""
        self.put(f"cd /root\nmkdir {folder}\ncd {folder}\n" + "".join(f"write {path} {os.path.basename(path)}\n" for path in paths))

    def put(self, commands):
        subprocess.run(
            ["debugfs", "-w", "-f", "/dev/stdin", self.path("card")], input=commands, capture_output=True, text=True, check=True)

    def put_packages(self, folder):
        """Writes the two repositories of `packages` to the card: over the emulated USB, a kernel takes ten minutes."""
        commands = ""
        for name in ["tools", "kernel"]:
            commands += f"mkdir /srv/{name}\ncd /srv/{name}\n"
            commands += "".join(f"write {folder}/{name}/{file} {file}\n" for file in sorted(os.listdir(f"{folder}/{name}")))
        self.put(commands)

    def firmware(self):
        """Acts like the Pi's firmware before the kernel: makes the device tree and the command line from two files on the card.

        Returns the kernel's command line, and the two serial ports of QEMU: the PL011, and the small UART. The receiver is wired to
        the header's pins, which have the small UART while Bluetooth has the PL011.
        """
        # A Pi's firmware reads a separate partition, which a power cut does not affect. Here the files are on the only partition, and
        # debugfs may not find them before the kernel has repaired the file system.
        if not self.was_cut:
            self.boot_files = {name: self.card_file(f"/boot/firmware/{name}") for name in ["config.txt", "cmdline.txt"]}
        settings = [line.strip() for line in self.boot_files["config.txt"].splitlines()]
        tree = self.path("device-tree")
        subprocess.run(["cp", self.device_tree, tree], check=True)
        without_bluetooth = "dtoverlay=disable-bt" in settings
        if without_bluetooth:
            subprocess.run(["fdtput", "-r", tree, "/soc/serial@7e201000/bluetooth"], check=True)
        if "dtparam=i2c_arm=on" not in settings:
            subprocess.run(["fdtput", "-t", "s", tree, "/soc/i2c@7e804000", "status", "disabled"], check=True)
        words = self.boot_files["cmdline.txt"].strip()
        if without_bluetooth:
            return f"{words.replace('serial0', 'ttyAMA0')} console=ttyS1,115200", ["gps", "console"]
        return words.replace("serial0", "ttyS1"), ["console", "gps"]

    def arguments(self):
        words, ports = self.firmware()
        return [
            f"{self.emulator}/qemu", "-M", "raspi3b", "-m", "1G", "-no-user-config", "-display", "none", "-no-reboot",
            "-kernel", self.kernel, "-initrd", self.initrd, "-dtb", self.path("device-tree"),
            "-append", f"{words} net.ifnames=0 systemd.show_status=false"
            # The list excludes drivers of devices that QEMU lacks, which take long to load, and a driver that would take the network
            # interface from its proper driver.
            " systemd.default_timeout_start_sec=600 systemd.default_device_timeout_sec=600 module_blacklist=cdc_subset,vc4,cfg80211,snd_bcm2835,bcm2835_codec,bcm2835_isp"
            # QEMU gives this machine 1 GiB and no less, so the kernel is told to use only a part of it.
            + ("" if self.memory == "1G" else f" mem={self.memory}"),
            "-drive", f"file={self.path('card')},format=raw,if=sd,cache=unsafe",
            "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22",
            "-device", "usb-hub,id=hub,port=1", "-device", "usb-net,netdev=net,mac=b8:27:eb:12:34:56,port=1.1",
            *(["-device", "usb-serial,chardev=cable,id=cable,always-plugged=on,port=1.2"] if self.plugged else []),
            "-chardev", f"file,id=console,path={self.path('console')},append=on",
            *(argument for port in ports for argument in ["-serial", f"chardev:{port}"]),
            *self.devices,
            # This socket is for the command that runs while the machine is up.
            "-qmp", f"unix:{self.path('qmp-of-command')},server=on,wait=off",
        ]

    def follow_lines(self):
        threading.Thread(target=self.lines.follow, args=(self,), daemon=True).start()

    def happened(self, event, data):
        # At a restart, QEMU ends and is started again, so that the firmware reads the card again.
        if event == "SHUTDOWN" and data.get("reason") == "guest-reset":
            threading.Thread(target=self.restart, daemon=True).start()

    def restart(self):
        self.process.wait()
        self.leave_ssh()
        self.was_cut = False
        self.replay_journal()
        if self.updates_kernel:
            self.take_kernel_from_card()
        self.start()
        self.restarts += 1

    def replay_journal(self):
        """Makes the card's files readable for debugfs if the kernel has not unmounted them. A Pi's firmware has its own partition."""
        superblock = subprocess.run(
            ["dumpe2fs", "-h", self.path("card")], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
        if "needs_recovery" in superblock:
            print("  | the card was not unmounted before the restart", flush=True)
            subprocess.run(
                ["e2fsck", "-y", "-E", "journal_only", self.path("card")], stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def register(self, address):
        answer = self.ask("human-monitor-command", **{"command-line": f"xp /1wx {address:#x}"})
        return int(answer.split(":")[1], 16)

    def unplug(self):
        """Unplugs the cable.

        QEMU 10.0 ends with an assertion (`usb_ep_get: dev != NULL`) if a device disappears during a transfer. The kernel's
        hub driver therefore loses the device first, as with a broken contact.
        """
        self.plugged = False
        self.ssh(f"echo 1 >{self.CABLE_SWITCH}")
        self.ask("device_del", id="cable")

    def plug(self):
        self.ask("device_add", driver="usb-serial", chardev="cable", id="cable", port="1.2", **{"always-plugged": True})
        self.ssh(f"echo 0 >{self.CABLE_SWITCH}")
        self.plugged = True

    def until_restarted(self, restarts, seconds):
        """Waits until the machine has restarted after this number of restarts, and ssh answers."""
        end = time.monotonic() + seconds
        while self.restarts == restarts:
            if time.monotonic() > end:
                raise RuntimeError(f"the machine did not restart within {seconds} s")
            time.sleep(0.2)
        self.await_ssh(seconds)

    def offer(self, port, at):
        """Makes a port of this machine reachable at a port of the Pi."""
        subprocess.run(
            ["ssh", "-F", self.path("ssh_config"), "-O", "forward", "-R", f"127.0.0.1:{at}:127.0.0.1:{port}", self.NAME],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def cut(self):
        """Cuts the supply: data that the kernel has not written to the card yet is lost."""
        self.was_cut = True
        try:
            self.ask("quit")
        except (RuntimeError, OSError):
            pass
        self.process.wait(30)
        self.leave_ssh()


class CardPi(Pi):
    """A Pi with a card of two partitions that .ci/image-pi has written. Bluetooth has the full UART, so the header has the small one."""

    USER = "pi"
    BOOT_PARTITION = 4 << 20

    def card_file(self, path):
        name = os.path.basename(path)
        done = subprocess.run(
            ["mtype", "-i", f"{self.path('card')}@@{self.BOOT_PARTITION}", f"::{name}"], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, check=False)
        return done.stdout
