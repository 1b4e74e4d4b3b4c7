"""Measures hubs at one broker: their cost without a viewer, and their return after a restart of the broker or a network failure."""

import contextlib, os, resource, shutil, signal, tempfile, threading, time
from broker import PORT, Broker
from hub import Hub
from process import Trouble
from report import Report
from switch import ADDRESS, Switch
from viewer import Viewer

# The number of hubs that may connect at the same time during the start.
STARTING = 24
# If no further hub joins for this many seconds, the number counts as final. A busy machine may be slow.
PATIENCE = 180
LEAST_FREE_BYTES = 4 << 30
CUT_SECONDS = 60
# The limit until all hubs have returned after a restart of the broker or a network failure.
RETURN_SECONDS = 60
IDLE_BYTES = 200


def free_bytes():
  with open("/proc/meminfo") as info:
    return next(int(line.split()[1]) for line in info if line.startswith("MemAvailable")) * 1024


class Network(Switch):
  """A switch with the hubs' network, and another network for the hubs that will be cut off."""

  def __init__(self):
    super().__init__("hubs", "edge")

  def tries(self):
    """How many connections the hubs have begun so far."""
    return sum(space.tries for space in self.spaces.values())

  def edge_is_whole(self, count):
    """Whether each hub that was cut off has a connection that both ends know, without data in transit."""
    def connections(space, filter, local, peer):
      fields = [line.split() for line in space.run("ss", "-tnH", "state", "established", *filter).splitlines()]
      return {(line[local], line[peer]): line[0] == "0" and line[1] == "0" for line in fields}
    here = connections(self.space, ["src", f"{ADDRESS}:{PORT}", "and", "dst", self.addresses["edge"]], 3, 2)
    there = connections(self.spaces["edge"], ["dst", f"{ADDRESS}:{PORT}"], 2, 3)
    return sum(1 for pair in here if pair in there and here[pair] and there[pair]) == count


class Rate:
  """Measures the largest number of connections that are begun within one second, including refused ones, until `end` is called."""

  def __init__(self, network):
    self.network = network
    self.samples = [(time.monotonic(), network.tries())]
    self.is_over = threading.Event()
    self.thread = threading.Thread(target=self.sample, daemon=True)
    self.thread.start()

  def sample(self):
    while not self.is_over.wait(0.1):
      self.samples.append((time.monotonic(), self.network.tries()))

  def end(self):
    self.is_over.set()
    self.thread.join()
    worst, first = 0, 0
    for when, count in self.samples:
      while self.samples[first][0] < when - 1.05:
        first += 1
      worst = max(worst, count - self.samples[first][1])
    return worst


class Growth(Report):
  def __init__(self, sensorhub, network, count, minutes):
    self.sensorhub = sensorhub
    self.network = network
    self.count = count
    self.minutes = minutes
    self.hubs = []
    self.viewer = None
    self.figures = {"hubs": count}
    self.title = f"fleet: {count} hubs"

  def measure(self):
    self.folder = tempfile.mkdtemp(prefix="sensorhub-fleet-")
    self.broker = Broker(f"{self.folder}/broker", self.network.space, ADDRESS)
    try:
      self.broker.start()
      self.start()
      self.idle()
      self.watch()
      self.restart(0, "restart")
      self.restart(20, "absence")
      self.cut()
      self.settle()
    finally:
      self.end()
    return self.figures

  def end(self):
    if self.viewer:
      self.viewer.end()
    for hub in self.hubs:
      hub.process.kill()
    for hub in self.hubs:
      hub.process.wait()
    self.broker.stop(signal.SIGKILL)
    if not os.environ.get("SENSORHUB_FLEET_KEEP"):
      shutil.rmtree(self.folder, ignore_errors=True)

  def start(self):
    begun = last = time.monotonic()
    joined = 0
    while joined < self.count:
      if free_bytes() < LEAST_FREE_BYTES:
        raise Trouble(f"less than {LEAST_FREE_BYTES >> 30} GB of memory are left with {len(self.hubs)} hubs")
      while len(self.hubs) < self.count and len(self.hubs) - joined < STARTING:
        number = len(self.hubs)
        space = self.network.spaces["edge" if number % 10 == 0 else "hubs"]
        hub = Hub(self.sensorhub, f"{self.folder}/hub-{number}", f"hub-{number}", self.broker.url, space)
        hub.start()
        self.hubs.append(hub)
      time.sleep(0.05)
      now = self.broker.look()
      if now > joined:
        last = time.monotonic()
      elif time.monotonic() > last + PATIENCE:
        raise Trouble(f"only {joined} of {self.count} hubs have joined")
      joined = now
    self.say(f"all joined within {time.monotonic() - begun:.0f} s of their start")
    # The hubs have sent their initial messages by then.
    time.sleep(15)

  def traffic(self):
    """For each connection: (bytes that the hub has sent, bytes that it has received, segments in each direction)."""
    lines = self.network.space.run("ss", "-tinH", "state", "established", "sport", "=", f":{PORT}").splitlines()
    connections = {}
    for line in lines:
      if not line[0].isspace():
        peer = line.split()[3]
        continue
      numbers = dict(word.split(":") for word in line.split() if word.count(":") == 1)
      connections[peer] = tuple(int(numbers.get(name, 0)) for name in ("bytes_received", "bytes_sent", "segs_in", "segs_out"))
    return connections

  def idle(self):
    before, woken, worked = self.traffic(), sum(hub.switches for hub in self.hubs), self.broker.processor_seconds
    begun = time.monotonic()
    time.sleep(self.minutes * 60)
    after, woken = self.traffic(), sum(hub.switches for hub in self.hubs) - woken
    minutes = (time.monotonic() - begun) / 60
    worked = self.broker.processor_seconds - worked
    changes = [[b - a for a, b in zip(before[peer], after[peer])] for peer in before if peer in after]
    sent = [one[0] / minutes for one in changes]
    # IPv4 and TCP headers with timestamps, for each segment.
    with_headers = [(one[0] + 52 * one[2]) / minutes for one in changes]
    both = sum(one[0] + one[1] + 52 * (one[2] + one[3]) for one in changes) / minutes / self.count
    memory = [hub.memory() for hub in self.hubs]
    figures = self.figures
    figures["memory"] = sum(share for share, _ in memory) / self.count / 1e6
    figures["own"] = sum(own for _, own in memory) / self.count / 1e6
    figures["threads"] = max(hub.threads for hub in self.hubs)
    figures["sent"] = sum(sent) / self.count
    figures["sent_with_headers"] = sum(with_headers) / self.count
    figures["worst_sent"] = max(with_headers)
    figures["both"] = both
    # The bytes for joining, and all bytes until the measurement began.
    figures["join"] = sum(one[0] + one[1] for one in before.values()) / len(before)
    figures["join_with_headers"] = sum(one[0] + one[1] + 52 * (one[2] + one[3]) for one in before.values()) / len(before)
    figures["woken"] = woken / minutes / self.count
    figures["broker_memory"] = self.broker.resident_bytes / 1e6
    figures["broker_idle"] = worked / minutes * 1000
    self.say(f"to join: {figures['join']:.0f} bytes both ways, {figures['join_with_headers']:.0f} with headers")
    self.say(f"{figures['memory']:.1f} MB each ({figures['own']:.1f} its own); broker {figures['broker_memory']:.1f} MB, "
             f"{figures['broker_idle']:.0f} ms of processor a minute; a minute: {figures['woken']:.1f} wake-ups")
    self.expect(len(changes) == self.count and figures["worst_sent"] < IDLE_BYTES,
                f"an idle hub sends {figures['sent']:.1f} bytes a minute, {figures['sent_with_headers']:.0f} with headers (at most "
                f"{figures['worst_sent']:.0f}); both ways {both:.0f}; wished: below {IDLE_BYTES}")

  def watch(self):
    watched = [hub.name for hub in self.hubs[:max(1, self.count // 50)]]
    self.viewer = Viewer(self.broker, self.folder, watched)
    end = time.monotonic() + 60
    while not all(self.viewer.received().values()):
      if time.monotonic() > end:
        raise Trouble("a hub is not woken by who watches it")
      time.sleep(0.2)
    time.sleep(35)
    self.say(f"{len(watched)} watched")

  def restart(self, seconds, name):
    """Stops the broker, starts it again after this many seconds, and measures the return of the hubs."""
    rate = Rate(self.network)
    self.broker.stop()
    gone = time.monotonic()
    time.sleep(seconds)
    self.broker.start()
    begun = time.monotonic()
    away = begun - gone
    back = self.wait(begun, lambda: self.broker.look() == self.count)
    time.sleep(max(0, begun + 60 - time.monotonic()))
    self.broker.look()
    worked = self.broker.processor_seconds
    tries = rate.end()
    self.figures[name] = back
    self.figures[name + "_knocks"] = self.broker.worst_second
    self.figures[name + "_tries"] = tries
    self.figures[name + "_worked"] = worked
    missing = "" if back is not None else f"; only {self.broker.look()} are"
    self.expect(back is not None and back <= RETURN_SECONDS,
                f"broker away for {away:.1f} s: all back {back if back is None else round(back, 1)} s after its start{missing}; in the "
                f"worst second {tries} tries and {self.broker.worst_second} connections taken; {worked:.2f} s of the broker's "
                f"processor in its first minute; {len(self.broker.knocks)} connections taken in all")

  def wait(self, begun, is_so):
    while not is_so():
      if time.monotonic() > begun + 3 * RETURN_SECONDS:
        return None
      time.sleep(0.05)
    return time.monotonic() - begun

  def cut(self):
    hubs = len([hub for number, hub in enumerate(self.hubs) if number % 10 == 0])
    before = len(self.broker.knocks)
    rate = Rate(self.network)
    self.network.cut("edge")
    time.sleep(CUT_SECONDS)
    self.network.mend("edge")
    begun = time.monotonic()
    back = self.wait(begun, lambda: self.network.edge_is_whole(hubs))
    self.broker.look()
    self.figures["cut"] = back
    self.figures["cut_tries"] = rate.end()
    self.expect(back is not None and back <= RETURN_SECONDS,
                f"{hubs} cut off for {CUT_SECONDS} s: all back {back if back is None else round(back, 1)} s later; "
                f"{len(self.broker.knocks) - before} of them connected anew, in the worst second {self.figures['cut_tries']} tries")

  def settle(self):
    time.sleep(30)
    self.viewer.leave()
    time.sleep(5)
    total, twice, missing, disordered = self.viewer.account()
    health = self.broker.retained("sensorhub/+/health")
    lost = sum(int(text.partition('"lostValues":')[2].partition(",")[0]) for text in health.values())
    online = sum(1 for text in self.broker.retained("sensorhub/+/status").values() if text == "online")
    self.figures.update(values=total, twice=twice, missing=missing)
    self.expect(missing == 0 and disordered == 0 and lost == 0,
                f"{total} values came to who watched, {twice} of them twice, {missing} missing, {disordered} out of order; the hubs say "
                f"that {lost} are lost")
    self.expect(len(health) == self.count and online == self.count, f"{online} are online, {len(health)} have said how they are")


def measure(sensorhub, counts, minutes):
  """Returns the figures for each count, and whether one of them is worse than promised."""
  resource.setrlimit(resource.RLIMIT_NOFILE, (min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
  results = []
  failed = False
  with contextlib.closing(Network()) as network:
    for count in counts:
      growth = Growth(sensorhub, network, count, minutes)
      results.append(growth.measure())
      failed = failed or growth.has_failed
  return results, failed
