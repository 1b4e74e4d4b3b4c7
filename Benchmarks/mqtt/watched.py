"""A hub with one receiver, whose power is observed from outside. It runs as a process of this machine, or on a kernel of its own."""

import contextlib, os, signal, sys
from hub import Hub
from line import Line
from process import Trouble, start, until

HERE = os.path.dirname(os.path.realpath(__file__))
NAME = "boat"
TOPIC = f"sensorhub/{NAME}"


class WatchedHub(Hub):
  """
  kernel: the folder of the virtual bench's kernel, whose GPIO chip has the power line. None for a simulated line, which only the hub
  knows; then the benchmark observes whether the hub has the receiver's tty open.
  rate: the receiver's epochs per second.
  """

  def __init__(self, program, folder, switch, broker, kernel=None, rate=1, linger=0.5):
    self.switch = switch
    self.kernel = kernel
    self.rate = rate
    self.linger = linger
    self.receiver = None
    port, chip = ("/run/gps", "faults") if kernel else (f"{folder}/gps", "simulated")
    super().__init__(
      program, folder, NAME, broker.url, switch.spaces.get("hub"), more="state: { rateHz: 50 }",
      devices=f"""gps: {{ driver: "nmea", port: "{port}", power: {{ switch: "gpio", chip: "{chip}", line: "gps-power",
        settleMilliseconds: 0, lingerSeconds: {linger} }} }}""")

  def start(self):
    reading, writing = os.pipe()
    if self.kernel:
      self.process = start(
        [
          f"{self.kernel}/linux", "mem=512M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", f"init={HERE}/guest-init",
          "con=null", "con0=null,fd:1", f"con1=null,fd:{writing}", "quiet", "vec0:transport=tap,ifname=hub",
          f"folder={self.folder}", f"address={self.switch.addresses['hub']}", f"python={sys.executable}", f"here={HERE}",
          f"rate={self.rate}", f"program={self.program}"],
        f"{self.folder}/log", self.switch.space, pass_fds=[writing], start_new_session=True)
    else:
      self.receiver = start(
        [sys.executable, f"{HERE}/receiver.py", f"{self.folder}/gps", self.rate], f"{self.folder}/receiver.log", stdout=writing)
    os.close(writing)
    self.line = Line(reading, "line" if self.kernel else "tty", not self.kernel)
    if not until(60, lambda: self.line.is_ready):
      raise Trouble(f"the receiver does not come: {self.log}")
    if not self.kernel:
      super().start()
    if not until(60, lambda: "joined mqtt://" in self.log):
      raise Trouble(f"the hub does not join its broker: {self.log}")

  @property
  def what(self):
    return "the kernel's power line" if self.kernel else "the receiver's tty"

  @property
  def is_joined(self):
    """Whether the hub has joined its broker, according to its log."""
    words = [line for line in self.log.split("\n") if "mqtt://" in line]
    return bool(words) and " joined " in words[-1]

  def stop(self):
    if self.kernel and self.process:
      # The guest's processes are processes of this machine too.
      with contextlib.suppress(ProcessLookupError):
        os.killpg(self.process.pid, signal.SIGKILL)
    super().stop()
    if self.receiver:
      self.receiver.terminate()
      self.receiver.wait()
