"""Machines of QEMU with a receiver on each of two serial ports, whose power lines can be observed from outside."""

import json
import os
import queue
import socket
import subprocess
import threading
import time


class Lines:
    """The levels of the machine's power lines, as its GPIO chip writes them to the host, with the host's times."""

    NAMES = ["gps", "spare"]

    def __init__(self):
        self.changes = []  # (host's monotonic time, line, level)
        self.levels = dict.fromkeys(self.NAMES, 0)

    def follow(self, connection):
        while data := connection.recv(64):
            now = time.monotonic()
            for byte in data:
                name, level = self.NAMES[(byte >> 1) & 1], byte & 1
                if self.levels[name] != level:
                    self.levels[name] = level
                    self.changes.append((now, name, level))

    def between(self, start, end):
        return [change for change in list(self.changes) if start < change[0] < end]

    def seconds_on(self, name, start, end, level=0):
        """How long a line was high from `start`, when it had this level, to `end`."""
        total, since = 0.0, start if level else None
        for at, line, new in self.between(start, end):
            if line != name:
                continue
            if new and since is None:
                since = at
            elif not new and since is not None:
                total += at - since
                since = None
        return total + (end - since if since is not None else 0)

    def rises(self, name, start, end):
        return sum(1 for _, line, level in self.between(start, end) if line == name and level)


class Receiver(threading.Thread):
    """A receiver with a hot start of two seconds. It takes its time from the host, and sends nothing to a port that sleeps."""

    SILENCE = 0.5  # the seconds from its supply to its first sentence
    HOT_START = 2.0

    def __init__(self, name, machine):
        super().__init__(daemon=True)
        self.name_of_line, self.machine = name, machine
        self.latitude, self.longitude = 52.5, 13.4
        self.on_since = None
        self.fixes = []  # (UTC of the fix, host's monotonic time)
        self.sent = set()  # the UTC of all sentences
        self.commands = bytearray()  # what was sent to the receiver
        self.connection = None

    def run(self):
        second = 0
        while True:
            time.sleep(0.02)
            on = self.machine.supplied(self.name_of_line)
            self.on_since = (self.on_since or time.monotonic()) if on else None
            now = time.time()
            # The sentences of a second are sent a tenth of a second after it.
            if int(now - 0.1) == second:
                continue
            second = int(now - 0.1)
            if self.on_since is None or self.connection is None or self.machine.sleeping.is_set():
                continue
            if time.monotonic() - self.on_since < self.SILENCE:
                continue
            has_fix = time.monotonic() - self.on_since >= self.HOT_START
            self.sent.add(second)
            try:
                if self.send(self.sentences(second, has_fix)) and has_fix:
                    self.fixes.append((second, time.monotonic()))
            except OSError:
                self.connection = None

    def keep_commands(self, connection):
        """Reads the bytes that are sent to the receiver. While its socket is full, QEMU and the whole machine would wait."""
        try:
            while data := connection.recv(4096):
                self.commands += data
        except OSError:
            pass

    def send(self, text):
        """Sends at 9600 baud. Faster bytes would wait while the port is closed, and would be old when they are read.

        Returns whether the receiver had its supply to the end.
        """
        for start in range(0, len(text), 16):
            if not self.machine.supplied(self.name_of_line) or self.machine.sleeping.is_set():
                return False
            self.connection.sendall(text[start : start + 16])
            time.sleep(16 / 960)
        return True

    def sentences(self, second, has_fix):
        stamp = time.gmtime(second)
        clock, date = time.strftime("%H%M%S.00", stamp), time.strftime("%d%m%y", stamp)
        place = ",".join([angle(self.latitude, 2, "NS"), angle(self.longitude, 3, "EW")]) if has_fix else ",,,"
        bodies = [
            f"GNRMC,{clock},{'A' if has_fix else 'V'},{place},{'0.0' if has_fix else ''},,{date},,,{'A' if has_fix else 'N'}",
            f"GNGGA,{clock},{place},{1 if has_fix else 0},{'08' if has_fix else '00'},{'0.9' if has_fix else ''},"
            + ("40.0,M,40.0,M,," if has_fix else ",M,,M,,"),
            "GNGSA,A,3,02,05,12,13,15,18,24,29,,,,,1.6,0.9,1.3" if has_fix else "GNGSA,A,1,,,,,,,,,,,,,,,",
        ]
        return "".join(sentence(body) for body in bodies).encode()


def angle(degrees, digits, letters):
    minutes = abs(degrees) % 1 * 60
    return f"{int(abs(degrees)):0{digits}d}{minutes:08.5f},{letters[degrees < 0]}"


def sentence(body):
    checksum = 0
    for character in body:
        checksum ^= ord(character)
    return f"${body}*{checksum:02X}\r\n"


class Machine:
    """A machine of QEMU, which suspends. Another kind of machine replaces `arguments` and `follow_lines`."""

    NAME = "sleeper"  # for ssh
    USER = "root"
    SOCKETS = ["lines", "gps", "spare"]
    LINES = Lines

    def __init__(self, image, folder, accelerator):
        self.image, self.folder, self.accelerator = image, folder, accelerator
        self.lines = self.LINES()
        self.sleeping = threading.Event()
        self.events = queue.Queue()  # (name, host's monotonic time, host's UTC)
        self.answers = queue.Queue()
        self.asking = threading.Lock()
        self.questions = 0
        self.receivers = {name: Receiver(name, self) for name in self.LINES.NAMES}
        self.process = None
        self.booted_at = 0.0  # the host's monotonic time at which QEMU was started
        self.qmp = None
        self.port = None
        for receiver in self.receivers.values():
            receiver.start()

    def path(self, name):
        return os.path.join(self.folder, name)

    def supplied(self, name):
        """Whether a receiver has its supply."""
        return self.lines.levels[name]

    def start(self):
        """Boots, and returns once the sockets are connected."""
        for name in ["qmp", *self.SOCKETS]:
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        self.sleeping.clear()
        self.booted_at = time.monotonic()
        self.events = queue.Queue()
        self.answers = queue.Queue()
        sockets = []
        for name in self.SOCKETS:
            sockets += ["-chardev", f"socket,id={name},path={self.path(name)},server=on,wait=off"]
        if self.port is None:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
        command = [*self.arguments(), *sockets, "-qmp", f"unix:{self.path('qmp')},server=on,wait=off"]
        with open(self.path("qemu.log"), "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for name, receiver in self.receivers.items():
            receiver.connection = self.connect(name)
            threading.Thread(target=receiver.keep_commands, args=(receiver.connection,), daemon=True).start()
        qmp = self.connect("qmp").makefile("rw", encoding="utf-8")
        qmp.readline()
        self.qmp = qmp
        threading.Thread(target=self.watch, args=(qmp, self.events, self.answers), daemon=True).start()
        self.ask("qmp_capabilities")
        self.follow_lines()
        self.write_ssh_configuration()

    def arguments(self):
        # These processors have no AVX, which costs more than it saves under emulation.
        processor = "Nehalem" if self.accelerator == "tcg" else "kvm64"
        return [
            "qemu-system-x86_64", "-M", "q35", "-accel", self.accelerator, "-cpu", processor, "-m", "512", "-nodefaults",
            "-no-user-config", "-display", "none", "-kernel", f"{self.image}/kernel", "-initrd", f"{self.image}/initrd",
            "-append", "console=ttyS0 net.ifnames=0 loglevel=6 no_timer_check mitigations=off"
            " systemd.mask=e2scrub_reap.service systemd.show_status=false systemd.default_timeout_start_sec=600",
            "-drive", f"file={self.path('disk')},format=raw,if=none,id=disk,cache=unsafe", "-device", "virtio-blk-pci,drive=disk",
            "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22", "-device", "e1000e,netdev=net",
            "-device", "virtio-rng-pci", "-rtc", "base=utc,clock=host",
            "-serial", f"file:{self.path('console')}",
            "-device", "isa-debugcon,iobase=0x5e0,chardev=lines",
            "-device", "pci-serial,chardev=gps,addr=0x10", "-device", "pci-serial,chardev=spare,addr=0x11",
        ]

    def follow_lines(self):
        threading.Thread(target=self.lines.follow, args=(self.connect("lines"),), daemon=True).start()

    def connect(self, name):
        for _ in range(600):
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(self.path(name))
                return connection
            except OSError:
                connection.close()
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        with open(self.path("qemu.log"), encoding="utf-8") as log:
            raise RuntimeError(f"QEMU did not open its socket '{name}': {log.read()}")

    def ask(self, name, **arguments):
        """The answer to a command of QMP."""
        with self.asking:
            self.questions += 1
            self.qmp.write(json.dumps({"execute": name, "arguments": arguments, "id": self.questions}) + "\n")
            self.qmp.flush()
            answer = self.answers.get(timeout=60)
            # An answer that came too late for its question is still in the queue.
            while answer is not None and answer.get("id") != self.questions:
                answer = self.answers.get(timeout=60)
        if answer is None:
            raise RuntimeError(f"QEMU ended before it answered to {name}")
        if "error" in answer:
            raise RuntimeError(f"{name}: {answer['error']['desc']}")
        return answer["return"]

    def watch(self, qmp, events, answers):
        try:
            for line in qmp:
                message = json.loads(line)
                event = message.get("event")
                if event == "SUSPEND":
                    self.sleeping.set()
                elif event == "WAKEUP":
                    self.sleeping.clear()
                if event:
                    events.put((event, time.monotonic(), time.time()))
                    self.happened(event, message.get("data", {}))
                else:
                    answers.put(message)
        except (OSError, ValueError):
            pass
        answers.put(None)
        events.put(("END", time.monotonic(), time.time()))

    def happened(self, event, data):
        """Handles an event of QEMU. Each kind of machine has its own handler."""

    def wait_for(self, name, seconds):
        """The host's monotonic time and UTC of the next event with this name."""
        end = time.monotonic() + seconds
        while True:
            try:
                event, monotonic, utc = self.events.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"the machine did not report {name} within {seconds} s") from None
            if event == name:
                return monotonic, utc
            if event == "END":
                raise RuntimeError(f"the machine ended before {name}")

    def write_ssh_configuration(self):
        with open(self.path("ssh_config"), "w", encoding="utf-8") as file:
            file.write(
                f"Host {self.NAME}\n  HostName 127.0.0.1\n  Port {self.port}\n  User {self.USER}\n  IdentityFile {self.path('key')}\n"
                "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n  ControlMaster auto\n"
                f"  ControlPath {self.path('ssh')}\n  ControlPersist yes\n  ConnectTimeout 20\n"
            )

    def ssh(self, command, check=True, seconds=120):
        done = subprocess.run(
            ["ssh", "-F", self.path("ssh_config"), self.NAME, command],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"'{command}' ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def await_ssh(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError("QEMU ended while the machine booted")
            # The first connection becomes the master, so its output must not be a pipe that is read to its end. QEMU takes a
            # connection before the machine does, and then tries the machine at growing intervals, so a new one is faster.
            done = subprocess.run(
                ["ssh", "-F", self.path("ssh_config"), "-o", "ConnectTimeout=4", self.NAME, "true"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if done.returncode == 0:
                return
            time.sleep(1)
        with open(self.path("console"), encoding="utf-8", errors="replace") as console:
            raise RuntimeError("the machine did not come up within %d s:\n%s" % (seconds, console.read()[-2000:]))

    def forward(self):
        """A port of the host that reaches the hub's web port."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        subprocess.run(
            ["ssh", "-F", self.path("ssh_config"), "-O", "forward", "-L", f"127.0.0.1:{port}:127.0.0.1:8080", self.NAME],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return port

    def leave_ssh(self):
        subprocess.run(
            ["ssh", "-F", self.path("ssh_config"), "-O", "exit", self.NAME],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def end(self):
        self.leave_ssh()
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
