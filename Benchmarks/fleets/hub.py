"""A hub on simulated devices that joins a broker, in a process and, if it is to be, a network of its own."""

import os, signal, subprocess
from spaces import dies_with_parent

DEVICES = """
    gps: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "simulated", line: "gps-power" } },
    imu: { driver: "mpu-6050", bus: "simulated/i2c", power: { switch: "gpio", chip: "simulated", line: "imu-power" } },"""


class Hub:
  """broker: its address; None for a hub that has none."""

  def __init__(self, sensorhub, folder, name, broker, space=None):
    self.name = name
    self.folder = os.path.join(folder, name)
    os.makedirs(self.folder)
    mqtt = f'mqtt: {{ broker: "{broker}", hub: "{name}" }},' if broker else ""
    board = self.folder + "/board.json5"
    with open(board, "w") as file:
      file.write(f'{{ name: "{name}", devices: {{ {DEVICES} }}, {mqtt} }}')

    def begin():
      dies_with_parent()
      if space is not None:
        space.enter()

    with open(self.folder + "/log", "w") as log:
      self.process = subprocess.Popen(
        [sensorhub, "run", "--board", board, "--socket", self.folder + "/hub.sock"], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=log, preexec_fn=begin, env={**os.environ, "STATE_DIRECTORY": self.folder + "/state"})

  @property
  def log(self):
    with open(self.folder + "/log", errors="replace") as log:
      return log.read()

  @property
  def switches(self):
    """How often its threads have waited so far: each wait that has ended is a wake-up."""
    count = 0
    tasks = f"/proc/{self.process.pid}/task"
    for task in os.listdir(tasks):
      with open(f"{tasks}/{task}/status") as status:
        count += sum(int(line.split()[1]) for line in status if line.startswith("voluntary"))
    return count

  @property
  def tries(self):
    """How many connections have been begun so far in its network."""
    with open(f"/proc/{self.process.pid}/net/snmp") as counters:
      names, values = [line.split()[1:] for line in counters if line.startswith("Tcp:")]
    return int(values[names.index("ActiveOpens")])

  @property
  def threads(self):
    return len(os.listdir(f"/proc/{self.process.pid}/task"))

  def memory(self):
    """(its share of all, what is its own alone), in bytes."""
    share = own = 0
    with open(f"/proc/{self.process.pid}/smaps_rollup") as rollup:
      for line in rollup:
        if line.startswith("Pss:"):
          share = int(line.split()[1]) * 1024
        elif line.startswith("Private_"):
          own += int(line.split()[1]) * 1024
    return share, own

  def kill(self):
    if self.process.poll() is None:
      self.process.send_signal(signal.SIGKILL)
    self.process.wait()
