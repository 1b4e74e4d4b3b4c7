"""A hub on simulated devices, in a process of its own."""

import ctypes, json, os, signal, socket, subprocess, sys, threading, time

# A receiver that reports each second, and an IMU at 100 Hz whose FIFO is read ten times per second.
USUAL = """
  gps: { driver: "ublox", port: "simulated/ublox-8", rateHz: 1, messages: "nmea" },
  imu: { driver: "mpu-6050", bus: "simulated/i2c", rateHz: 100, burstRateHz: 10 }"""
# The same devices with half as many samples and fewer reports.
LEAN = """
  gps: { driver: "ublox", port: "simulated/ublox-8", rateHz: 1, messages: "nmea" },
  imu: { driver: "mpu-6050", bus: "simulated/i2c", rateHz: 50, burstRateHz: 5 }"""
# IMU at 200 Hz, receiver at 5 Hz.
QUICK = """
  gps: { driver: "nmea", port: "simulated/gps" },
  imu: { driver: "mpu-6050", bus: "simulated/i2c", rateHz: 200 }"""
# IMU at 1 kHz, receiver at 10 Hz.
BUSY = """
  gps: { driver: "ublox", port: "simulated/ublox-8", rateHz: 10, setSpeed: 115200 },
  imu: { driver: "mpu-6050", bus: "simulated/i2c", rateHz: 1000 }"""

PRCTL = ctypes.CDLL(None).prctl
SET_DEATH_SIGNAL = 1


class Hub:
  """
  record: the keys of `record` in the board file, except the path; None for a hub that does not record.
  recordings: the folder for recordings, if it is not in the hub's folder.
  """

  def __init__(self, sensorhub, folder, record, devices=QUICK, state_hz=10, recordings=None, environment=None):
    os.makedirs(folder + "/state", exist_ok=True)
    self.sensorhub = sensorhub
    self.folder = folder
    self.recordings = recordings or folder + "/recordings"
    self.socket = folder + "/hub.sock"
    self.environment = environment or {}
    self.process = None
    section = f', record: {{ path: "{self.recordings}", {record} }}' if record is not None else ""
    with open(folder + "/board.json5", "w") as board:
      board.write(f'{{ name: "bench", motion: "vehicle", devices: {{ {devices} }}, state: {{ rateHz: {state_hz} }}{section} }}')

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self.stop(signal.SIGKILL)

  def start(self):
    """Starts the hub (again), and returns it when its socket exists."""
    for name in ("hub.sock", "log"):
      if os.path.exists(f"{self.folder}/{name}"):
        os.unlink(f"{self.folder}/{name}")
    with open(self.folder + "/log", "w") as log:
      self.process = subprocess.Popen(
        [self.sensorhub, "run", "--board", self.folder + "/board.json5", "--socket", self.socket],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
        # The hubs end with the benchmark, even if that is killed.
        preexec_fn=lambda: PRCTL(SET_DEATH_SIGNAL, signal.SIGKILL),
        env={**os.environ, "STATE_DIRECTORY": self.folder + "/state", **self.environment})
    self.wait(lambda: os.path.exists(self.socket), "its socket")
    return self

  def wait(self, is_so, what, seconds=60):
    end = time.monotonic() + seconds
    while not is_so():
      if self.process.poll() is not None or time.monotonic() > end:
        sys.exit(f"recorder: a hub has not come to {what}; its log:\n{self.log}")
      time.sleep(0.01)

  def stop(self, number=signal.SIGTERM):
    """Ends the hub, and returns its exit code."""
    if self.process is None:
      return None
    if self.process.poll() is None:
      self.process.send_signal(number)
    return self.process.wait()

  @property
  def log(self):
    with open(self.folder + "/log", errors="replace") as log:
      return log.read()

  def said(self, *words):
    """The lines of the log with one of these words, without their time."""
    return [line.partition(" ")[2] for line in self.log.splitlines() if any(word in line for word in words)]

  @property
  def processor_seconds(self):
    with open(f"/proc/{self.process.pid}/stat") as stat:
      fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

  @property
  def resident_bytes(self):
    with open(f"/proc/{self.process.pid}/smaps_rollup") as rollup:
      return next(int(line.split()[1]) for line in rollup if line.startswith("Rss:")) * 1024

  @property
  def segments(self):
    """The paths of the hub's recordings, the oldest first."""
    names = os.listdir(self.recordings) if os.path.isdir(self.recordings) else []
    return [f"{self.recordings}/{name}" for name in sorted(names) if name.endswith(".mcap")]


class Listener:
  """Reads a hub's states in the `with` block: their time stamps, and when they arrived."""

  def __init__(self, hub):
    self.stamps = []
    self.arrivals = []
    self.connection = socket.socket(socket.AF_UNIX)
    self.connection.connect(hub.socket)
    self.thread = threading.Thread(target=self.read, daemon=True)

  def __enter__(self):
    self.thread.start()
    return self

  def __exit__(self, *_):
    try:
      self.connection.shutdown(socket.SHUT_RDWR)
    except OSError:
      pass  # The hub has closed the connection first.
    self.thread.join()
    self.connection.close()

  def read(self):
    with self.connection.makefile("r") as lines:
      for line in lines:
        stamp = json.loads(line).get("monotonic")
        if stamp is not None:
          self.arrivals.append(time.monotonic())
          self.stamps.append(stamp)

  def longest_gap(self, since, until):
    """The longest time between two arrivals, in seconds."""
    times = [since, *(time for time in self.arrivals if since < time < until), until]
    return max(after - before for before, after in zip(times, times[1:]))

  def count(self, since, until):
    return sum(since < time < until for time in self.arrivals)
