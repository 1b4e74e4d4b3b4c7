"""A hub in a process of its own and, optionally, in a network of its own."""

import os, signal, subprocess
from process import start

SIMULATED = """
    gps: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "simulated", line: "gps-power" } },
    imu: { driver: "mpu-6050", bus: "simulated/i2c", power: { switch: "gpio", chip: "simulated", line: "imu-power" } },"""


class Hub:
  """
  broker: the URL of the hub's broker; None for a hub without one.
  devices, more: the devices and further sections of the board file.
  """

  def __init__(self, program, folder, name, broker=None, space=None, devices=SIMULATED, more=""):
    self.program = program
    self.folder = folder
    self.name = name
    self.space = space
    self.process = None
    self.board = f"{folder}/board.json5"
    os.makedirs(f"{folder}/state")
    mqtt = f'mqtt: {{ broker: "{broker}", hub: "{name}" }},' if broker else ""
    with open(self.board, "w") as file:
      file.write(f'{{ name: "{name}", devices: {{ {devices} }}, {mqtt} {more} }}')

  def start(self):
    self.process = start(
      [self.program, "run", "--board", self.board, "--socket", f"{self.folder}/hub.sock"], f"{self.folder}/log", self.space,
      stdout=subprocess.DEVNULL, env={**os.environ, "STATE_DIRECTORY": f"{self.folder}/state"})

  @property
  def log(self):
    with open(f"{self.folder}/log", errors="replace") as file:
      return file.read()

  @property
  def processes(self):
    """The processes of the hub and of its connection to the broker."""
    pids = [self.process.pid]
    for task in os.listdir(f"/proc/{self.process.pid}/task"):
      with open(f"/proc/{self.process.pid}/task/{task}/children") as children:
        pids += [int(pid) for pid in children.read().split()]
    return pids

  @property
  def tasks(self):
    return [f"/proc/{pid}/task/{task}" for pid in self.processes for task in os.listdir(f"/proc/{pid}/task")]

  @property
  def switches(self):
    """How often the threads have waited so far. The end of each wait is a wake-up."""
    count = 0
    for task in self.tasks:
      with open(f"{task}/status") as status:
        count += sum(int(line.split()[1]) for line in status if line.startswith("voluntary"))
    return count

  @property
  def threads(self):
    return len(self.tasks)

  def memory(self):
    """(proportional share of shared memory, private memory), in bytes."""
    share = own = 0
    for pid in self.processes:
      with open(f"/proc/{pid}/smaps_rollup") as rollup:
        for line in rollup:
          if line.startswith("Pss:"):
            share += int(line.split()[1]) * 1024
          elif line.startswith("Private_"):
            own += int(line.split()[1]) * 1024
    return share, own

  def stop(self, number=signal.SIGTERM):
    if self.process:
      self.process.send_signal(number)
      self.process.wait()
