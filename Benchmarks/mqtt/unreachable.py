"""Measures the cost of a hub whose broker cannot be reached: its attempts, its wake-ups, and how long it takes to end."""

import shutil, signal, socket, tempfile, time
from broker import PORT
from hub import Hub
from space import Space

# After this many seconds the hub tries at most once a minute.
SETTLED = 600


def listener(space):
  """A port that accepts connections and sends nothing."""
  with space.inside():
    listening = socket.create_server(("127.0.0.1", PORT))
  listening.setblocking(False)
  return listening


def black_hole(space):
  """An address without a host, at the end of a cable."""
  space.ip("link add cable type veth peer name nobody")
  space.ip("link set nobody up")
  space.ip("address add 10.99.0.1/24 dev cable")
  space.ip("link set cable up")
  space.ip("neighbour add 10.99.0.2 lladdr 02:00:00:00:00:02 dev cable nud permanent")


class Case:
  """A hub in a network of its own. `prepare` makes the broker, or what replaces it, in that network."""

  def __init__(self, sensorhub, folder, what, name, broker, prepare=None):
    self.what = what
    self.space = Space()
    self.listening = prepare(self.space) if prepare else None
    self.taken = []
    self.hub = Hub(sensorhub, f"{folder}/{name}", name, broker, self.space)
    self.hub.start()
    # Per second: attempts begun and waits ended.
    self.seconds = []

  def begin(self):
    self.before = (self.space.tries, self.hub.switches)

  def tick(self):
    if self.listening is not None:
      try:
        while True:
          self.taken.append(self.listening.accept()[0])
      except BlockingIOError:
        pass
    now = (self.space.tries, self.hub.switches)
    self.seconds.append((now[0] - self.before[0], now[1] - self.before[1]))
    self.before = now

  def row(self):
    early, late = self.seconds[:SETTLED], self.seconds[SETTLED:]
    starts = [second for second, (tries, _) in enumerate(self.seconds) if tries]
    late_gaps = [b - a for a, b in zip(starts, starts[1:]) if b >= SETTLED]
    begun = time.monotonic()
    self.hub.process.terminate()
    code = self.hub.process.wait()
    took = time.monotonic() - begun
    tries = lambda seconds: sum(one for one, _ in seconds)
    woken = sum(count for _, count in self.seconds)
    return (
      f"| {self.what} | {tries(early)} | {tries(late)} in {len(late) / 60:.0f} min | {min(late_gaps, default='-')} s "
      f"| {woken} | {sum(1 for _, count in self.seconds if count)} | {took:.2f} s ({code}) |", took, min(late_gaps, default=60))

  def end(self):
    self.hub.stop(signal.SIGKILL)
    self.space.close()


def measure(sensorhub, minutes):
  folder = tempfile.mkdtemp(prefix="sensorhub-fleet-")
  cases = []
  try:
    cases += [
      Case(sensorhub, folder, "no broker asked for", "none", None),
      Case(sensorhub, folder, "refused", "refused", f"mqtt://127.0.0.1:{PORT}"),
      Case(sensorhub, folder, "a black hole", "hole", f"mqtt://10.99.0.2:{PORT}", black_hole),
      Case(sensorhub, folder, "takes the connection, says nothing", "mute", f"mqtt://127.0.0.1:{PORT}", listener),
    ]
    time.sleep(5)
    for case in cases:
      case.begin()
    begun = time.monotonic()
    for second in range(1, minutes * 60 + 1):
      time.sleep(max(0, begun + second - time.monotonic()))
      for case in cases:
        case.tick()
    print(f"| broker, for {minutes} min | tries in the first 10 min | after | the shortest time between two then | wake-ups "
          "| seconds with any | SIGTERM |\n|---|---|---|---|---|---|---|")
    good = True
    for case in cases:
      row, took, gap = case.row()
      print(row + ("" if took < 1 and gap >= 59 else " NOT AS PROMISED"), flush=True)
      good = good and took < 1 and gap >= 59
    return good
  finally:
    for case in cases:
      case.end()
    shutil.rmtree(folder, ignore_errors=True)

