"""Checks that the power line follows the viewers, through faults of the viewers, the broker and the networks between them."""

import os, random, re, signal, statistics, subprocess, time
from process import Trouble, until
from watched import TOPIC

# The time in seconds that programs need in addition to the promised times: to start and be noticed, and until their absence is noticed.
START = 5
LEAVE = 1
# How long to check that nothing changes after an event that should not change anything.
LOOK = 1.5
# Keep-alive intervals: of the hub, of `sensorhub watch`, and the shortest that mosquitto_sub accepts.
KEEP_ALIVE = 60
WATCH_KEEP_ALIVE = 10
SHORT_KEEP_ALIVE = 5
# How long a hub without its broker assumes that its viewers are still there.
GRACE = 10
# A client that loses a broker after this many seconds of connection returns soon if the broker was away for four
# seconds. After a shorter connection the delay grows, up to a minute and a half.
SOUND = 31
RETURN_SOON = 8
RETURN = 100


def missed_after(keep_alive):
  """When a broker notices that a client is gone: after one and a half keep-alives (MQTT 5, 3.1.2.10), and some seconds until it checks."""
  return 1.5 * keep_alive + 5


class Viewer:
  """kind: `watch` is `sensorhub watch`, which repeats its request when it returns; `sub` is mosquitto_sub, which does not."""

  def __init__(self, bench, kind):
    self.kind = kind
    self.keep_alive = WATCH_KEEP_ALIVE if kind == "watch" else SHORT_KEEP_ALIVE
    if kind == "watch":
      self.process = bench.watch()
      return
    topic = f"{TOPIC}/interest/sub/position"
    log = bench.path("viewer.log")
    self.process = bench.broker.client(
      "mosquitto_sub", "-i", "sub", "-k", SHORT_KEEP_ALIVE, "-t", f"{TOPIC}/status", "--will-topic", topic, "--will-retain",
      "--will-qos", "1", space=bench.viewers, log=log, stdout=subprocess.PIPE)
    # The client is connected, and its will is registered, once it has received the hub's health.
    self.process.stdout.readline()
    bench.broker.retain(topic, "{}", space=bench.viewers, log=log)

  def end(self, number):
    self.process.send_signal(number)
    self.process.wait()


class World:
  """A hub, its broker and at most one viewer, and the required behaviour of the power line in each fault."""

  def __init__(self, bench, chance):
    self.bench = bench
    self.chance = chance
    self.line = bench.hub.line
    self.linger = bench.hub.linger
    self.viewer = None
    self.miss_count = 0
    self.is_missed = False
    # For each kind of fault, how long the line took to follow.
    self.times = {}
    self.done = {}
    # The number of changes of the line that have been checked.
    self.seen = self.line.count
    self.sound_at = 0
    self.began = time.monotonic()
    # A client for which the broker keeps every value while the client is away.
    self.values = bench.path("values")
    logger = bench.broker.client(
      "mosquitto_sub", "-c", "-i", "logger", "-t", f"{TOPIC}/state/#", "-t", f"{TOPIC}/health", log=self.values)
    bench.callback(logger.kill)
    # The hub's health is retained. Once it arrives, all later messages arrive too.
    if not until(20, lambda: os.path.getsize(self.values) > 0):
      raise Trouble("who keeps the values does not come to the broker")

  # The required behaviour of the line

  def follows(self, is_on, seconds, kind):
    """Checks that the line changes once, within a number of seconds from now."""
    since = time.monotonic()
    at = self.line.wait(is_on, seconds, self.seen)
    if at is None:
      return self.miss(f"not {'up' if is_on else 'down'} within {seconds:.1f} s")
    self.times.setdefault(kind, []).append(max(0, at - since))
    self.count(1)

  def stays(self, seconds=LOOK):
    time.sleep(seconds)
    self.count(0)

  def count(self, expected):
    """Checks how often the line has changed since the last check."""
    known = self.line.count
    if known - self.seen != expected:
      self.miss(f"{known - self.seen} changes, {expected} expected")
    self.seen = known

  def miss(self, text):
    self.miss_count += not self.is_missed
    self.is_missed = True
    changes = [
      f"{'up' if change.is_on else 'down'} {change.at - self.began:.2f} s after it began" for change in self.line.changes[self.seen:]]
    self.bench.expect(False, f"{self.step}: {text}; the line: {', '.join(changes) or 'as before'}")
    self.seen = self.line.count

  # Faults

  def comes(self, kind=None):
    self.viewer = Viewer(self.bench, kind or self.chance.choice(["watch", "sub"]))
    self.follows(True, START, "a viewer comes: up")
    self.stays(0.5)

  def is_killed(self):
    self.viewer.end(signal.SIGKILL)
    self.viewer = None
    self.follows(False, self.linger + LEAVE, "a viewer is killed: down")

  def leaves(self):
    self.viewer.end(signal.SIGTERM)
    self.viewer = None
    self.follows(False, self.linger + LEAVE, "a viewer leaves: down")

  def is_cut_off_for_a_moment(self):
    self.is_out_of_reach("viewer", self.chance.uniform(0.1, 4))

  def is_cut_off(self):
    self.bench.switch.cut("viewer")
    keep_alive = self.viewer.keep_alive
    kind = f"a viewer with a keep-alive of {keep_alive} s is cut off: down"
    self.follows(False, missed_after(keep_alive) + self.linger, kind)
    if self.viewer.kind == "watch":
      self.bench.switch.mend("viewer")
      self.follows(True, RETURN, "a viewer comes back: up")
      self.is_new()
    else:
      self.viewer.end(signal.SIGKILL)
      self.viewer = None
      self.bench.switch.mend("viewer")
      self.stays()

  def is_killed_while_the_hub_is_cut_off(self):
    """The cut is so short that the hub does not notice it."""
    self.bench.switch.cut("hub")
    self.viewer.end(signal.SIGKILL)
    self.viewer = None
    time.sleep(2)
    self.bench.switch.mend("hub")
    # TCP retransmits lost data at growing intervals.
    self.follows(False, 5 + self.linger + LEAVE, "a viewer is killed while the hub is cut off for 2 s: down after that")

  def hub_is_cut_off_for_a_moment(self):
    self.is_out_of_reach("hub", self.chance.uniform(0.1, 8))

  def is_out_of_reach(self, place, seconds):
    self.bench.switch.cut(place)
    time.sleep(seconds)
    self.bench.switch.mend(place)
    # TCP retransmits the lost messages at growing intervals. They have arrived by then.
    self.stays(seconds + LOOK)

  def hub_is_cut_off(self):
    self.bench.switch.cut("hub")
    self.follows(False, KEEP_ALIVE + self.linger, "the hub is cut off: down")
    self.bench.switch.mend("hub")
    self.follows(True, RETURN, "the hub comes back: up")
    self.is_new()

  def broker_is_restarted(self):
    self.bench.broker.stop()
    time.sleep(self.chance.uniform(0, 4))
    self.bench.broker.start()
    self.is_new()
    # The time in which hub and viewer return, plus the time for which the hub waits for a viewer.
    self.stays(RETURN_SOON + GRACE + LOOK)

  def broker_is_away(self):
    self.bench.broker.stop()
    self.follows(False, GRACE + self.linger + LEAVE, "the broker is away: down")
    self.bench.broker.start()
    self.follows(True, RETURN, "the broker comes back: up")
    self.is_new()

  def is_killed_while_the_broker_is_restarted(self):
    """The viewer cannot end its request. The hub ends it, after it has waited for the viewer without success."""
    self.bench.broker.stop()
    self.viewer.end(signal.SIGKILL)
    self.viewer = None
    time.sleep(self.chance.uniform(0, 4))
    self.bench.broker.start()
    self.is_new()
    self.follows(False, RETURN_SOON + GRACE + self.linger + LEAVE, "a viewer is killed while the broker is restarted: down after that")

  def is_new(self):
    """Records that the connections are new."""
    self.sound_at = time.monotonic() + SOUND

  BREAKING = {"is_cut_off", "hub_is_cut_off", "broker_is_restarted", "broker_is_away", "is_killed_while_the_broker_is_restarted"}

  def choices(self):
    """The faults that are possible now, each with its weight."""
    if not self.viewer:
      return {"comes": 10, "hub_is_cut_off_for_a_moment": 1, "broker_is_restarted": 1}
    any_kind = {
      "is_killed": 5, "is_cut_off_for_a_moment": 2, "hub_is_cut_off_for_a_moment": 2, "is_killed_while_the_hub_is_cut_off": 2}
    if self.viewer.kind == "sub":
      return {**any_kind, "is_cut_off": 3}
    # After these faults, viewers that do not repeat their request are forgotten.
    return {
      **any_kind, "leaves": 3, "is_cut_off": 1, "hub_is_cut_off": 2, "broker_is_restarted": 4, "broker_is_away": 2,
      "is_killed_while_the_broker_is_restarted": 1}

  def cause(self, fault, *more):
    words = fault.replace("_", " ")
    of_viewer = {"watch": "sensorhub watch", "sub": "mosquitto_sub"}[self.viewer.kind] if self.viewer else "nobody there"
    self.step = f"{words} ({of_viewer})"
    self.done[words] = self.done.get(words, 0) + 1
    if fault in self.BREAKING:
      time.sleep(max(0, self.sound_at - time.monotonic()))
    self.is_missed = False
    self.began = time.monotonic()
    # Nothing must have happened in the meantime.
    self.count(0)
    getattr(self, fault)(*more)
    if os.environ.get("SENSORHUB_VERBOSE"):
      self.bench.say(f"{sum(self.done.values())}. {self.step}: {time.monotonic() - self.began:.1f} s")
    if self.is_missed:
      self.begin_anew()

  def begin_anew(self):
    """Restores a known state after a missed change, so that one miss does not cause further ones."""
    if self.viewer:
      self.viewer.end(signal.SIGKILL)
      self.viewer = None
    for place in ("hub", "viewer"):
      self.bench.switch.mend(place)
    until(RETURN, lambda: self.bench.hub.is_joined and not self.line.is_high)
    self.is_new()
    time.sleep(GRACE + LOOK)
    self.seen = self.line.count

  def end(self):
    if self.viewer:
      self.viewer.end(signal.SIGKILL)
      self.viewer = None
    until(RETURN, lambda: self.bench.hub.is_joined and not self.lost_values())
    lost = self.lost_values()
    count = sum(map(len, self.numbers().values()))
    self.bench.expect(count > 0 and not lost, f"{count} values, {len(lost)} of them lost {' '.join(lost[:5])}".rstrip())
    for kind, times in sorted(self.times.items()):
      self.bench.say(f"{kind} after {statistics.median(times):.2f} s in the median, {max(times):.2f} s at worst, of {len(times)}")

  def numbers(self):
    """The numbers of the values that have arrived, for each stream."""
    streams = {}
    with open(self.values) as file:
      for stream, number in re.findall(r'"id":"([^"]+)-(\d+)"', file.read()):
        streams.setdefault(stream, set()).add(int(number))
    return streams

  def lost_values(self):
    return [
      f"{stream}-{number}" for stream, known in self.numbers().items() for number in range(1, max(known) + 1) if number not in known]


def measure_cases(bench, count):
  bench.say(f"{bench.broker.version}, {bench.hub.what}, linger {bench.hub.linger} s")
  world = World(bench, random.Random(1))
  for _ in range(count):
    for kind, faults in (
      ("sub", ["is_killed"]), ("sub", ["is_cut_off"]),
      ("watch", ["hub_is_cut_off", "broker_is_restarted", "broker_is_away", "is_cut_off", "is_killed"])):
      world.cause("comes", kind)
      for fault in faults:
        if not world.viewer:
          world.cause("comes", kind)
        world.cause(fault)
  world.end()
  bench.expect(world.miss_count == 0, f"the line has not followed {world.miss_count} of {sum(world.done.values())} times")


def measure_random(bench, count):
  seed = int(os.environ.get("SENSORHUB_SEED") or random.getrandbits(31))
  bench.say(f"{bench.broker.version}, {bench.hub.what}, linger {bench.hub.linger} s, SENSORHUB_SEED={seed}")
  world = World(bench, random.Random(seed))
  began = time.monotonic()
  for _ in range(count):
    choices = world.choices()
    world.cause(world.chance.choices(list(choices), list(choices.values()))[0])
  world.end()
  bench.say("; ".join(f"{words}: {number}" for words, number in sorted(world.done.items())))
  bench.expect(
    world.miss_count == 0,
    f"the line has not followed {world.miss_count} of {count} faults, in {(time.monotonic() - began) / 60:.0f} minutes")
