"""A hub with one receiver, whose power is watched from outside: as a process of this machine's, or on a kernel of its own."""

import contextlib, os, signal, sys
from line import Line
from process import start, until

HERE = os.path.dirname(os.path.realpath(__file__))
NAME = "boat"
TOPIC = f"sensorhub/{NAME}"


class Hub:
  """
  kernel: the folder of the virtual bench's kernel, whose GPIO chip the power line is one of; None for a simulated line, of which
  the hub alone knows: that it opens and closes the receiver's tty is seen then.
  rate: the receiver's epochs a second.
  """

  def __init__(self, program, folder, places, broker, kernel=None, rate=1, linger=0.5):
    self.program = program
    self.folder = folder
    self.places = places
    self.kernel = kernel
    self.rate = rate
    self.linger = linger
    self.processes = []
    os.makedirs(f"{folder}/state")
    port = "/run/gps" if kernel else f"{folder}/gps"
    with open(f"{folder}/board.json5", "w") as file:
      file.write(f"""{{ name: "faults", state: {{ rateHz: 50 }},
  devices: {{ gps: {{ driver: "nmea", port: "{port}", power: {{ switch: "gpio", chip: "{'faults' if kernel else 'simulated'}",
    line: "gps-power", settleMilliseconds: 0, lingerSeconds: {linger} }} }} }},
  mqtt: {{ broker: "mqtt://{broker.address[0]}:{broker.address[1]}", hub: "{NAME}" }} }}""")

  def start(self):
    reading, writing = os.pipe()
    if self.kernel:
      self.processes.append(start(
        self.places.command(
          "switch", f"{self.kernel}/linux", "mem=512M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw",
          f"init={HERE}/guest-init", "con=null", "con0=null,fd:1", f"con1=null,fd:{writing}", "quiet",
          "vec0:transport=tap,ifname=hub", f"folder={self.folder}", f"address={self.places.ADDRESSES['hub']}",
          f"python={sys.executable}", f"here={HERE}", f"rate={self.rate}", f"program={self.program}"),
        f"{self.folder}/log", pass_fds=[writing], start_new_session=True))
    else:
      self.processes.append(start(
        [sys.executable, f"{HERE}/receiver.py", f"{self.folder}/gps", str(self.rate)], f"{self.folder}/receiver.log",
        stdout=writing))
    os.close(writing)
    self.line = Line(reading, "line" if self.kernel else "tty", not self.kernel)
    if not until(60, lambda: self.line.is_ready):
      raise TimeoutError(f"the receiver does not come: {self.log}")
    if not self.kernel:
      self.processes.append(start(
        self.places.command(
          "hub", self.program, "run", "--board", f"{self.folder}/board.json5", "--socket", f"{self.folder}/hub.sock"),
        f"{self.folder}/log", env={**os.environ, "STATE_DIRECTORY": f"{self.folder}/state"}))
    if not until(60, lambda: "joined mqtt://" in self.log):
      raise TimeoutError(f"the hub does not join its broker: {self.log}")

  @property
  def what(self):
    return "the kernel's power line" if self.kernel else "the receiver's tty"

  @property
  def is_joined(self):
    """As it says itself."""
    words = [line for line in self.log.split("\n") if "mqtt://" in line]
    return bool(words) and " joined " in words[-1]

  @property
  def log(self):
    with open(f"{self.folder}/log", errors="replace") as file:
      return file.read()

  def stop(self):
    for process in reversed(self.processes):
      if self.kernel:
        # Its processes are this machine's too.
        with contextlib.suppress(ProcessLookupError):
          os.killpg(process.pid, signal.SIGKILL)
      else:
        process.terminate()
      process.wait()
    self.processes = []
