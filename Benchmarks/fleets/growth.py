"""Hubs at one broker: what they cost while nobody looks, and what becomes of them when the broker restarts or the network is cut."""

import os, resource, shutil, sys, tempfile, threading, time
from broker import PORT, Broker
from hub import Hub
from spaces import Space, run
from viewer import Viewer

BROKER = "10.77.0.1"
SWITCH = "02:00:00:00:00:fe"
# As many hubs may be on their way to the broker at once while they are started.
STARTING = 24
# For so long no further hub may join before that is taken to be all; a machine that does other things besides is slow.
PATIENCE = 180
LEAST_FREE_BYTES = 4 << 30
CUT_SECONDS = 60
# Until all are back after a broker's restart or a cut.
RETURN_SECONDS = 60
IDLE_BYTES = 200


def free_bytes():
  with open("/proc/meminfo") as info:
    return next(int(line.split()[1]) for line in info if line.startswith("MemAvailable")) * 1024


class Network:
  """The broker's network with a switch (this process's own), the hubs' network, and another for those that will be cut off."""

  def __init__(self):
    self.own = Space(own=True)
    self.own.ip("link", "add", "switch", "address", SWITCH, "type", "bridge")
    self.own.ip("addr", "add", BROKER + "/16", "dev", "switch")
    self.own.ip("link", "set", "switch", "up")
    self.hubs = self.space("hubs", "10.77.1.1", 1)
    self.edge = self.space("edge", "10.77.2.1", 2)

  def space(self, name, address, number):
    space = Space()
    mac = f"02:00:00:00:00:{number:02}"
    self.own.ip("link", "add", name, "type", "veth", "peer", "name", "cable", "netns", str(space.process.pid))
    self.own.ip("link", "set", name, "master", "switch", "up")
    space.ip("link", "set", "cable", "address", mac, "up")
    space.ip("addr", "add", address + "/16", "dev", "cable")
    # Nobody tells what is cut off that it is: packets vanish, as they do further away than the next switch.
    space.ip("neigh", "add", BROKER, "lladdr", SWITCH, "dev", "cable", "nud", "permanent")
    self.own.ip("neigh", "add", address, "lladdr", mac, "dev", "switch", "nud", "permanent")
    return space

  def cut(self):
    self.own.ip("link", "set", "edge", "nomaster")

  def mend(self):
    self.own.ip("link", "set", "edge", "master", "switch")

  def tries(self):
    """How many connections hubs have begun so far."""
    count = 0
    for space in (self.hubs, self.edge):
      with open(f"/proc/{space.process.pid}/net/snmp") as counters:
        names, values = [line.split()[1:] for line in counters if line.startswith("Tcp:")]
      count += int(values[names.index("ActiveOpens")])
    return count

  def edge_is_whole(self, count):
    """Whether each hub that was cut off has a connection that both ends know, with nothing on its way."""
    def connections(space, filter, local, peer):
      lines = run("nsenter", "--net=" + space.path, "ss", "-tnH", "state", "established", *filter).splitlines()
      fields = [line.split() for line in lines]
      return {(line[local], line[peer]): line[0] == "0" and line[1] == "0" for line in fields}
    here = connections(self.own, ["src", f"{BROKER}:{PORT}", "and", "dst", "10.77.2.1"], 3, 2)
    there = connections(self.edge, ["dst", f"{BROKER}:{PORT}"], 2, 3)
    return sum(1 for pair in here if pair in there and here[pair] and there[pair]) == count

  def end(self):
    self.hubs.end()
    self.edge.end()
    self.own.ip("link", "del", "switch")


class Rate:
  """How many connections are begun in the worst second, refused ones too, from when this is made until `end`."""

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


class Growth:
  def __init__(self, sensorhub, network, count, minutes):
    self.sensorhub = sensorhub
    self.network = network
    self.count = count
    self.minutes = minutes
    self.hubs = []
    self.viewer = None
    self.figures = {"hubs": count}
    self.has_failed = False

  def say(self, text):
    print(f"fleet: {self.count} hubs: {text}", flush=True)

  def expect(self, is_so, text):
    self.has_failed = self.has_failed or not is_so
    self.say(text if is_so else f"{text} - NOT AS PROMISED")

  def measure(self):
    self.folder = tempfile.mkdtemp(prefix="sensorhub-fleet-")
    self.broker = Broker(self.folder, BROKER)
    try:
      self.start()
      self.idle()
      self.watch()
      self.restart(0, "restart")
      self.restart(20, "absence")
      self.cut()
      self.settle()
    finally:
      if self.viewer:
        self.viewer.end()
      for hub in self.hubs:
        hub.process.kill()
      for hub in self.hubs:
        hub.kill()
      self.broker.process.kill()
      self.broker.process.wait()
      if not os.environ.get("SENSORHUB_FLEET_KEEP"):
        shutil.rmtree(self.folder, ignore_errors=True)
    return self.figures

  def start(self):
    begun = last = time.monotonic()
    joined = 0
    while joined < self.count:
      if free_bytes() < LEAST_FREE_BYTES:
        sys.exit(f"fleet: less than {LEAST_FREE_BYTES >> 30} GB of memory are left with {len(self.hubs)} hubs")
      while len(self.hubs) < self.count and len(self.hubs) - joined < STARTING:
        number = len(self.hubs)
        space = self.network.edge if number % 10 == 0 else self.network.hubs
        self.hubs.append(Hub(self.sensorhub, self.folder, f"hub-{number}", self.broker.address, space))
      time.sleep(0.05)
      now = self.broker.look()
      if now > joined:
        last = time.monotonic()
      elif time.monotonic() > last + PATIENCE:
        sys.exit(f"fleet: only {joined} of {self.count} hubs have joined")
      joined = now
    self.say(f"all joined within {time.monotonic() - begun:.0f} s of their start")
    # What they have to say first has been said.
    time.sleep(15)

  def traffic(self):
    """Per connection: (bytes that the hub has sent, received, segments of both)."""
    lines = run("ss", "-tinH", "state", "established", "sport", "=", f":{PORT}").splitlines()
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
    # IPv4 and TCP with time stamps, for each segment.
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
    # What it took to join, and what was said since.
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
        sys.exit("fleet: a hub is not woken by who watches it")
      time.sleep(0.2)
    time.sleep(35)
    self.say(f"{len(watched)} watched")

  def restart(self, seconds, name):
    """The broker goes, and comes again after so long."""
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
    self.network.cut()
    time.sleep(CUT_SECONDS)
    self.network.mend()
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
  """Returns the figures of each count, and whether one is not as promised."""
  resource.setrlimit(resource.RLIMIT_NOFILE, (min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
  network = Network()
  results = []
  failed = False
  try:
    for count in counts:
      growth = Growth(sensorhub, network, count, minutes)
      results.append(growth.measure())
      failed = failed or growth.has_failed
  finally:
    network.end()
  return results, failed
