"""Records five devices with clients that come and go and with two reloads, and replays this 20 times next to three busy loops."""

import contextlib, signal, socket, subprocess, threading, time
from hub import PRCTL, SET_DEATH_SIGNAL

REPLAYS = 20
BUSY_LOOPS = 3
# One device of each kind. Each reload turns the IMU by half a turn.
DEVICES = """
  gps: {{ driver: "nmea", port: "simulated/gps" }},
  imu: {{ driver: "mpu-6050", bus: "simulated/i2c", rateHz: 100, mount: {mount} }},
  mag: {{ driver: "lis3mdl", bus: "simulated/i2c" }},
  baro: {{ driver: "bme280", bus: "simulated/i2c" }},
  meter: {{ driver: "ina226", bus: "simulated/i2c" }}"""
AHEAD = "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]"
ASTERN = "[[-1, 0, 0], [0, -1, 0], [0, 0, 1]]"
# When each client is connected, as shares of the time. Twice there is no client.
FIRST = [(0.02, 0.3), (0.36, 0.62), (0.65, 0.78), (0.84, 0.99)]
SECOND = [(0.1, 0.2), (0.25, 0.34), (0.5, 0.7), (0.9, 0.95)]
RELOADS = [(0.45, ASTERN), (0.72, AHEAD)]


class Client:
  """Reads the lines of a hub's socket until `leave` is called."""

  def __init__(self, hub):
    self.lines = []
    self.connection = socket.socket(socket.AF_UNIX)
    self.connection.connect(hub.socket)
    self.thread = threading.Thread(target=self.read, daemon=True)
    self.thread.start()

  def read(self):
    with self.connection.makefile("rb") as lines:
      for line in lines:
        # The last line may be cut. The state of a hub without clients was not fused.
        if line.endswith(b"\n") and b'"class":"STATE"' in line and b'"mode":"asleep"' not in line:
          self.lines.append(line)

  def leave(self):
    with contextlib.suppress(OSError):
      self.connection.shutdown(socket.SHUT_RDWR)
    self.thread.join()
    self.connection.close()
    return self.lines


def record(bench, seconds):
  """Returns the recordings, and the states that clients received."""
  # All fused states are sent, because no two of them are as close as this rate allows.
  hub = bench.hub("recorded", "syncSeconds: 1", devices=DEVICES.format(mount=AHEAD), state_hz=1000).start()
  received, present = [], {}
  events = [(at, "reload", mount) for at, mount in RELOADS]
  for client, visits in enumerate((FIRST, SECOND)):
    for come, leave in visits:
      events += [(come, "come", client), (leave, "leave", client)]
  start = time.monotonic()
  for at, what, which in sorted(events):
    time.sleep(max(0, start + at * seconds - time.monotonic()))
    if what == "come":
      present[which] = Client(hub)
    elif what == "leave":
      received += present.pop(which).leave()
    else:
      with open(hub.folder + "/board.json5") as file:
        board = file.read()
      before = len(hub.said("reloaded"))
      with open(hub.folder + "/board.json5", "w") as file:
        file.write(board.replace(AHEAD if which == ASTERN else ASTERN, which))
      hub.process.send_signal(signal.SIGHUP)
      hub.wait(lambda: len(hub.said("reloaded")) > before, "another board")
  hub.stop()
  return hub.segments, set(received)


@contextlib.contextmanager
def busy_loops():
  loops = [
    subprocess.Popen(
      ["sh", "-c", "while :; do :; done"], preexec_fn=lambda: PRCTL(SET_DEATH_SIGNAL, signal.SIGKILL))
    for _ in range(BUSY_LOOPS)]
  try:
    yield
  finally:
    for loop in loops:
      loop.kill()
      loop.wait()


def measure(bench, seconds):
  paths, received = record(bench, seconds)
  first, equal = None, 0
  with busy_loops():
    for _ in range(REPLAYS):
      output = bench.run("replay", "--rate", "max", "--state-rate", "all", *paths).encode()
      first = first or output
      missing = received - set(output.splitlines(keepends=True))
      if output == first and not missing:
        equal += 1
      for line in sorted(missing)[:3]:
        bench.say(f"missing: {line.decode().strip()}")
  count = first.count(b"\n")
  bench.expect(
    equal == REPLAYS and count > 0 and len(received) > 0,
    f"{equal} of {REPLAYS} replays of {seconds / 60:.1f} min next to {BUSY_LOOPS} busy loops are equal to the byte: {count} states, "
    f"with all {len(received)} that clients received")
