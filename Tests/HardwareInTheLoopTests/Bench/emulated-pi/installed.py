"""The cases with what a user installs: the package from an apt repository, a newer kernel, and a card that boots into a hub."""

import functools
import http.server
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../suspend"))
from bench import BOOT_LIMIT, LINGER, ROOT, STATE, energy_log_of, recordings_are_whole  # noqa: E402
from hub import RECORDINGS, Hub, Stream, saw, wait_for_level  # noqa: E402
from pi import CardPi  # noqa: E402

HERE = os.path.dirname(os.path.realpath(__file__))
BOARD = "/etc/sensorhub/board.json5"
# Where the README says that a repository is, and where the Pi reaches that of this machine.
README_ADDRESS = "https://example.org/apt"
ADDRESS = "http://127.0.0.1:8000/apt"


def run(*command, **environment):
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def package_of(bench):
    """The package of the cases' executable, made once; PI_PACKAGE names one that exists."""
    if not bench.package:
        bench.package = os.environ.get("PI_PACKAGE") or os.path.join(
            ROOT, run(".ci/deb", "--executable", bench.executable, "trixie", "arm64").strip())
    return bench.package


def version_of(package):
    return run("dpkg-deb", "-f", package, "Version").strip()


class Repository:
    """A signed apt repository made by .ci/apt-repository, which this machine serves over HTTP."""

    def __init__(self, bench):
        self.machine = bench.machine
        self.packages, self.web, self.key = (self.machine.path(name) for name in ["packages", "web", "apt-key"])
        for folder in [self.packages, self.web]:
            os.makedirs(folder, exist_ok=True)

        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=self.web))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def add(self, package, version=None):
        """Adds a package, or the same one with another version."""
        if not version:
            shutil.copy(package, self.packages)
            return
        unpacked = self.machine.path("unpacked")
        run("dpkg-deb", "-R", package, unpacked)
        run("sed", "-i", f"s/^Version: .*/Version: {version}/", f"{unpacked}/DEBIAN/control")
        run("dpkg-deb", "--root-owner-group", "-Zzstd", "-z1", "-b", unpacked, f"{self.packages}/sensorhub_{version}_arm64.deb")
        shutil.rmtree(unpacked)

    def publish(self):
        """Publishes the newest version. Returns the lines with which a user installs it."""
        lines = run(
            ".ci/apt-repository", "--key-folder", self.key, "--incomplete", "--address", ADDRESS, self.packages, f"{self.web}/apt")
        self.machine.offer(self.server.server_port, 8000)
        return lines


def prepare(bench):
    """What a Raspberry Pi OS has, and what apt needs here: curl, the true time, answers of yes, and no Debian out of reach."""
    machine = bench.machine
    machine.ssh(f"date -s @{time.time():.3f}")
    machine.ssh(
        "if [ -e /opt/sensorhub/current ]; then sh /opt/sensorhub/current/activate uninstall; fi; rm -rf /var/lib/sensorhub", seconds=300)
    bench.hub = None
    port = machine.ssh("ls /dev/ttyAMA0", check=False).strip()
    if not port:
        raise RuntimeError("the header has no /dev/ttyAMA0: a case before this one has not given it back")
    # A case before this one may have ended early.
    machine.ssh(
        "! dpkg-query -W sensorhub >/dev/null 2>&1 || apt-get -q -y purge sensorhub;"
        " rm -rf /var/lib/sensorhub /etc/apt/sources.list.d/sensorhub.list /etc/apt/keyrings/sensorhub-archive-keyring.gpg", seconds=600)
    machine.ssh("""set -e
        echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/99bench
        [ ! -e /etc/apt/sources.list ] || mv /etc/apt/sources.list /root/
        if ! command -v curl; then
          echo 'deb [trusted=yes] file:/srv/tools ./' >/etc/apt/sources.list.d/tools.list
          apt-get -q update
          DEBIAN_FRONTEND=noninteractive apt-get -q install --no-install-recommends curl
          rm /etc/apt/sources.list.d/tools.list
        fi""", seconds=600)


def readme_lines():
    """The lines of the README that install from a repository."""
    with open(f"{ROOT}/README.md", encoding="utf-8") as file:
        text = file.read()
    section = text.split("\n## Install\n")[1].split("\n## ")[0]
    block = re.search(r"^    sudo curl.*\n(?:    .*\n)*", section, re.MULTILINE).group()
    return "".join(line.removeprefix("    ") for line in block.splitlines(keepends=True)).replace(README_ADDRESS, ADDRESS)


def complaints(printed):
    # apt says this to every program that calls it.
    return [line for line in printed.splitlines() if re.match(r"(W|E|Warning|Error):", line) and "stable CLI" not in line]


def installed_version(machine):
    return machine.ssh("dpkg-query -W -f '${Version}' sensorhub 2>/dev/null || true").strip()


def install(bench, part, lines, probes=False):
    """Installs with the three lines, and puts the hub into service with a board file, first with that of `probe` if this is asked for."""
    machine = bench.machine
    began = time.monotonic()
    printed = machine.ssh(f"sh -euc {shlex.quote(lines)} 2>&1", seconds=900)
    told = complaints(printed)
    saw(part, "the three lines", f"in {time.monotonic() - began:.0f} s: sensorhub {installed_version(machine)};"
        f" {'; '.join(told) or 'no warning'}", not told and bool(installed_version(machine)))
    states = [machine.ssh(f"systemctl is-{word} sensorhub", check=False).strip() for word in ["enabled", "active", "failed"]]
    saw(part, "the service without a board file", ", ".join(states), states == ["enabled", "inactive", "inactive"])
    # The commands that the package prints.
    probe, restart = [
        re.search(pattern, printed, re.MULTILINE).group(1).strip()
        for pattern in [r"^ *(sudo sensorhub probe --write [^ ]*)", r"^ *(sudo systemctl daemon-reload && .*)$"]
    ]
    if probes:
        machine.always_supplied = True
        began = time.monotonic()
        machine.ssh(probe, seconds=300)
        machine.ssh(restart, seconds=300)
        states = Stream(machine, "sensorhub watch --json")
        state = states.wait(lambda state: "position" in state, 90)
        states.end()
        saw(part, "the two commands that the package prints", f"`{probe}` and `{restart}`; a position after"
            + (f" {state[0] - began:.0f} s" if state else ": none"), bool(state))
        machine.always_supplied = False
    bench.find_cable()
    with open(machine.path("board.json5"), "w", encoding="utf-8") as file:
        json.dump(bench.board(), file)
    subprocess.run(
        ["scp", "-q", "-F", machine.path("ssh_config"), machine.path("board.json5"), f"virtual-pi:{BOARD}"], check=True, stdin=subprocess.DEVNULL)
    machine.ssh(restart, seconds=300)
    hub = Hub(machine)
    hub.until_ready(BOOT_LIMIT)
    user = machine.ssh("ps -o user:32= -p $(systemctl show -p MainPID --value sensorhub)").strip()
    saw(part, "the service with a board file, and its user", machine.ssh("systemctl is-active sensorhub").strip() + f", {user}", user == "sensorhub")
    return hub


def follows(bench, part, what):
    """Whether the power lines follow one client from its start to its end, and a position arrives."""
    machine = bench.machine
    low = bench.await_lines(0, 60)
    saw(part, f"{what}: GPIO17 and GPIO27 in the SoC's register without a subscriber", bench.lines(), low)
    began = time.monotonic()
    states = Stream(machine, "sensorhub watch --json")
    high = bench.await_lines(1, 60)
    state = states.wait(lambda state: "position" in state, 60)
    after = f"a position after {state[0] - began:.1f} s" if state else "no position"
    powers = bench.powers(Hub(machine))
    saw(part, f"{what}: the register while `watch` runs", f"{bench.lines()}; {after}", high and bool(state))
    saw(part, f"{what}: the receivers while `watch` runs", ", ".join(f"{name} {power}" for name, power in powers.items()),
        set(powers.values()) == {"tracking"})
    ended = time.monotonic()
    states.end()
    low = bench.await_lines(0, 60)
    fell = {line: at - ended for at, line, level in machine.lines.changes if not level and at > ended}
    saw(part, f"{what}: the register after it ends",
        f"{bench.lines()}; " + ", ".join(f"{name} fell after {at:.1f} s (idle timeout {LINGER[name]:.0f} s)" for name, at in fell.items()), low)


def everything(machine):
    """All files with their modes, owners and links, users, groups, units and names of devices, except what every program changes."""
    return set(machine.ssh(r"""
        find / -xdev -not -path '/proc/*' -not -path '/sys/*' -not -path '/run/*' -not -path '/tmp/*' -not -path '/var/tmp/*' \
          -not -path '/var/log/*' -not -path '/var/cache/*' -not -path '/var/lib/apt/*' -not -path '/var/lib/dpkg/*' \
          -not -path '/root/*' -not -path '/var/lib/systemd/*' -not -name '*-' -printf '%y %m %u %g %p %l\n'
        find /run/systemd /run/udev/rules.d /run/sensorhub /var/lib/systemd -iname '*sensorhub*' 2>/dev/null
        cat /etc/passwd /etc/group; ls -l /dev/sensorhub 2>/dev/null
        systemctl list-units --all --plain --no-legend '*sensorhub*'""", seconds=600).splitlines())


def client(machine):
    """A `watch` whose last words and status can be read after it."""
    return Stream(machine, "sensorhub watch --json 2>/tmp/last-words; echo $? >>/tmp/last-words")


def last_words(machine):
    return " ".join(machine.ssh("cat /tmp/last-words").split())


def purge(bench, part, before, kept=()):
    """Purges the package while a client watches. Nothing may be left, except `kept`."""
    machine = bench.machine
    states = client(machine)
    states.wait(lambda state: "position" in state, 60)
    high = bench.await_lines(1, 60)
    saw(part, "the register before `apt purge`, while a client watches", bench.lines(), high)
    began = time.monotonic()
    machine.ssh("sudo apt purge sensorhub 2>&1", seconds=600)
    low = bench.await_lines(0, 30)
    fell = [at - began for at, line, level in machine.lines.changes if line == "gps" and not level and at > began]
    saw(part, "the register after `apt purge`", f"{bench.lines()}; GPIO17 fell {', '.join(f'{at:.1f} s' for at in fell)} after the command",
        low and len(fell) == 1)
    states.end()
    saw(part, "the client's last words", last_words(machine))
    machine.ssh("sudo rm /etc/apt/sources.list.d/sensorhub.list /etc/apt/keyrings/sensorhub-archive-keyring.gpg")
    after = everything(machine)
    left, lost = after - before, before - after
    left = {line for line in left if not any(path in line for path in kept)}
    saw(part, "left behind", "; ".join(sorted(left)) or "nothing", not left)
    saw(part, "taken along", "; ".join(sorted(lost)) or "nothing", not lost)


def package(bench):
    part, machine = "package on an emulated Pi", bench.machine
    prepare(bench)
    before = everything(machine)
    newest = package_of(bench)
    repository = bench.repository = Repository(bench)
    repository.add(newest, "0.0.1+deb13")
    printed, lines = repository.publish(), readme_lines()
    saw(part, "the README's three lines are those of .ci/apt-repository", "yes" if lines == printed else f"no: {printed}", lines == printed)
    install(bench, part, lines, probes=True)
    follows(bench, part, "installed")

    repository.add(newest)
    repository.publish()
    states = client(machine)
    states.wait(lambda state: "position" in state, 60)
    bench.await_lines(1, 60)
    process = machine.ssh("systemctl show -p MainPID --value sensorhub").strip()
    began = time.monotonic()
    told = complaints(machine.ssh("(sudo apt update && sudo apt upgrade) 2>&1", seconds=900))
    seconds = time.monotonic() - began
    version = installed_version(machine)
    saw(part, "`apt upgrade` to a newer version, while a client watches", f"in {seconds:.0f} s: {version}; {'; '.join(told) or 'no warning'}",
        version == version_of(newest) and not told)
    changes = [("high" if level else "low", at - began) for at, line, level in machine.lines.changes if line == "gps" and at > began]
    saw(part, "changes of GPIO17 during the upgrade", ", ".join(f"{level} after {at:.1f} s" for level, at in changes) or "none",
        [level for level, _ in changes] == ["low"])
    times = dict(line.split("=") for line in machine.ssh(
        "systemctl show -p ActiveEnterTimestampMonotonic -p ActiveExitTimestampMonotonic sensorhub").split())
    away = (int(times["ActiveEnterTimestampMonotonic"]) - int(times["ActiveExitTimestampMonotonic"])) / 1e6
    another = machine.ssh("systemctl show -p MainPID --value sensorhub").strip()
    saw(part, "the hub after the upgrade", f"{machine.ssh('systemctl is-active sensorhub', check=False).strip()},"
        f" {'another process' if another != process else 'the same process'}; away for {away:.1f} s", another not in (process, "0"))
    states.end()
    words = last_words(machine)
    saw(part, "the client's last words", words, "run this again" in words)
    follows(bench, part, "upgraded")
    purge(bench, part, before, kept=[f"{STATE} ", f"{RECORDINGS} ", ".mcap "])
    recordings = machine.ssh(f"find {STATE} -type f -printf '%U %G %P\\n'; rm -rf {STATE}").splitlines()
    saw(part, "the user's recordings after `apt purge`", "; ".join(recordings),
        bool(recordings) and all(line.startswith("0 0 ") and line.endswith(".mcap") for line in recordings))


def kernel_update(bench):
    part, machine = "kernel update on an emulated Pi", bench.machine
    prepare(bench)
    if not bench.repository:
        bench.repository = Repository(bench)
        bench.repository.add(package_of(bench))
    hub = install(bench, part, bench.repository.publish())
    # It records for a while, so that there are files and energy to keep.
    states = Stream(machine, "sensorhub watch --json")
    states.wait(lambda state: "position" in state, 60)
    time.sleep(15)
    states.end()
    bench.await_lines(0, 60)
    paid = sum(bill["milliwattHours"] for name in ["gps", "cable"] for bill in hub.device(name)["bills"]["day"])
    old = machine.ssh("uname -r").strip()
    name = machine.ssh("cat /srv/kernel/name").strip()
    began = time.monotonic()
    machine.ssh(f"""set -e
        echo MODULES=dep >/etc/initramfs-tools/conf.d/modules
        echo 'deb [trusted=yes] file:/srv/kernel ./' >/etc/apt/sources.list.d/kernel.list
        apt-get -q update
        DEBIAN_FRONTEND=noninteractive apt-get -q install --no-install-recommends {name} 2>&1""", seconds=6 * BOOT_LIMIT)
    saw(part, f"installed {name}", f"in {time.monotonic() - began:.0f} s, while the hub runs: "
        + machine.ssh("systemctl is-active sensorhub", check=False).strip())
    files = set(machine.ssh(f"ls {RECORDINGS}").split())
    machine.updates_kernel = True
    restarts, changes, began = machine.restarts, len(machine.lines.changes), time.monotonic()
    machine.ssh("systemctl reboot", check=False)
    machine.until_restarted(restarts, BOOT_LIMIT)
    new = machine.ssh("uname -r").strip()
    saw(part, "restarted with the newer kernel", f"ssh after {time.monotonic() - began:.0f} s: {new} (before {old})", new != old)
    active = machine.ssh(
        "for try in $(seq 120); do s=$(systemctl is-active sensorhub); [ $s = active ] && break; sleep 1; done; echo $s", check=False).strip()
    Hub(machine).until_ready(BOOT_LIMIT)
    rises = [line for _, line, level in machine.lines.changes[changes:] if level]
    saw(part, "the hub after it", f"service {active}, rises of a line {len(rises)}, lines {bench.lines()}",
        active == "active" and not rises and bench.lines() == "00")
    logged = energy_log_of(machine)
    saw(part, "the energy log", ", ".join(f"{name} {energy:.4f} mWh" for name, energy in logged.items()) + f" (before, together: {paid:.4f})",
        paid > 0 and sum(logged.values()) > paid - 0.001)
    whole = recordings_are_whole(bench, part, "sensorhub")
    lost = files - {os.path.basename(file["path"]) for file in whole}
    saw(part, "recordings that are gone", ", ".join(sorted(lost)) or "none", bool(files) and not lost)
    follows(bench, part, "after the update")
    for line in machine.ssh("journalctl -b -u sensorhub -o cat --no-pager", check=False).splitlines()[:12]:
        print(f"  | {line}", flush=True)


def card(bench):
    """Another machine, because the card of the others has no partitions. The first one ends."""
    part = "card of make image-pi on an emulated Pi"
    newest = package_of(bench)
    bench.machine.end()
    folder = bench.machine.path("of-card")
    os.makedirs(folder)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/key")
    run(f"{HERE}/card-image", bench.machine.image, folder)
    # The example for a Pi 3, with the switch that its comment describes.
    with open(f"{ROOT}/boards/raspberry-pi-3.json5", encoding="utf-8") as file:
        board = file.read()
    switch = re.search(r'//   (switch: "gpio", chip: "[^"]*", line: "GPIO17",)', board).group(1)
    with open(f"{folder}/board.json5", "w", encoding="utf-8") as file:
        file.write(board.replace('switch: "none",', switch, 1))
    began = time.monotonic()
    run("make", "--no-print-directory", "image-pi", f"IMAGE={folder}/stock.img", f"BOARD={folder}/board.json5", f"KEY={folder}/key.pub",
        f"PACKAGE={newest}", f"OUTPUT={folder}/card")
    saw(part, "written", f"in {time.monotonic() - began:.0f} s")
    os.unlink(f"{folder}/stock.img")
    machine = CardPi(bench.machine.image, folder, bench.machine.emulator)
    machine.initrd = f"{folder}/initrd"
    bench.machine = machine
    began = time.monotonic()
    machine.start()
    machine.await_ssh(BOOT_LIMIT)
    saw(part, "booted", f"ssh with the card's key after {time.monotonic() - began:.0f} s")
    hub = Hub(machine)
    hub.until_ready(BOOT_LIMIT)
    saw(part, "the hub's web port answers", f"after {time.monotonic() - began:.0f} s", bench.machine.lines.levels["gps"] == 0)
    # What a browser asks for at the README's address; nothing is typed on the Pi.
    asked = time.monotonic()
    state = hub.get("/state?maxAge=5&parts=position&within=60", seconds=90)
    rose = [at - asked for at, line, level in machine.lines.changes if line == "gps" and level and at > asked]
    receiver = machine.receivers["gps"]
    position = state.get("position", {})
    near = abs(position.get("lat", 0) - receiver.latitude) < 0.001 and abs(position.get("lon", 0) - receiver.longitude) < 0.001
    saw(part, "GPIO17 rose for a state asked for on this machine", f"{', '.join(f'{at:.1f} s' for at in rose) or 'never'} after the request", len(rose) == 1)
    saw(part, "a state with a position on this machine", f"after {time.monotonic() - asked:.1f} s: {position.get('lat')}, {position.get('lon')}", near)
    low = wait_for_level(machine, "gps", 0, 60)
    saw(part, "GPIO17 after the request", machine.lines.levels["gps"], low)
    # The first start ends after that: it is still on its way when the hub answers.
    end = time.monotonic() + 600
    while machine.ssh("ls -d /var/lib/sensorhub-card", check=False) and time.monotonic() < end:
        time.sleep(2)
    left = machine.ssh("ls -d /var/lib/sensorhub-card /etc/systemd/system/sensorhub-card.service", check=False).split()
    saw(part, "left of the first start", ", ".join(left) or "nothing", not left)
    for line in machine.card_file("sensorhub-card.log").splitlines():
        print(f"  | sensorhub-card.log on the boot partition: {line}", flush=True)
    starts = machine.ssh("sudo journalctl -u sensorhub -o cat --no-pager | grep -c '^Started sensorhub'", check=False).strip()
    saw(part, "starts of the hub", starts, starts == "1")
    failed = machine.ssh("systemctl --failed --plain --no-legend", check=False).strip()
    saw(part, "failed units", failed or "none", not failed)
