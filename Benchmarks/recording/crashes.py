"""Checks the recordings after a hub was killed, or its disk stopped, at any moment: everything is there that was recorded before the
last interval between two syncs, and the ring stays within its limit.
"""

import hashlib, heapq, os, random, signal, time
from bench import Lacking
from hub import BUSY
from recorded import by_stream, make_segments, need_mcap
from volume import Volume

SYNC_SECONDS = 1
MEGABYTES = 4
# The size of the segments in such a ring, minus the overhead of the format.
FILLER_BYTES = 485_000
LANES = 4
# The longest time from a measurement until it is handed to the disk, on a busy machine.
SLACK_SECONDS = 0.5
# The time until there is data to record.
STARTING_SECONDS = 1


class Lane:
  """One hub that is started and ended a number of times, in one folder."""

  def __init__(self, bench, number, tries, volume):
    self.volume = volume
    self.tries = tries
    self.hub = bench.hub(
      f"lane-{number}", f"syncSeconds: {SYNC_SECONDS}, maximumMegabytes: {MEGABYTES}, wakes: true",
      devices=BUSY, recordings=volume and volume.path + "/recordings")
    # The ring is full from the beginning, so every write overwrites older data.
    make_segments(self.hub.recordings, 8, FILLER_BYTES)
    # The runs that have not been checked: when each began, when it ended, and its files.
    self.pending = []
    # The contents of each checked file, by path.
    self.known = {}
    self.losses = []
    self.message_count = 0
    self.largest = 0
    self.mistakes = []

  def turns(self):
    """Runs the lane step by step; each step yields how many seconds may pass until the next."""
    for attempt in range(self.tries + 1):
      there = set(self.hub.segments)
      begun = time.time()
      self.hub.start()
      if self.pending:
        while not self.hub.said("recording to"):
          yield 0.02
        self.look()
      if attempt == self.tries:
        break
      end = time.monotonic() + random.uniform(0.2, 5)
      while (rest := end - time.monotonic()) > 0:
        self.weigh()
        yield min(rest, 0.05)
      ended = time.time()
      self.cut()
      self.weigh()
      self.pending.append((begun, ended, [path for path in self.hub.segments if path not in there]))
    self.hub.stop()

  def cut(self):
    if self.volume is None:
      self.hub.stop(signal.SIGKILL)
    else:
      self.volume.stop()
      self.hub.stop(signal.SIGKILL)
      self.volume.unmount()
      self.volume.mount()

  def weigh(self):
    # While the sizes of the segments are added up, one may disappear and another may appear.
    self.largest = max(self.largest, min(self.weight(), self.weight()))

  def weight(self):
    count = 0
    for path in self.hub.segments:
      try:
        status = os.stat(path)
      except FileNotFoundError:
        continue
      count += max(status.st_size, status.st_blocks * 512)
    return count

  def look(self):
    """Checks the files of the previous runs, after the present run has repaired them."""
    there = self.hub.segments
    # The oldest file may have been about to be overwritten.
    for path, digest in self.known.items():
      if path in there[1:] and self.digest(path) != digest:
        self.mistakes.append(f"{os.path.basename(path)} is another")
    self.known = {path: digest for path, digest in self.known.items() if path in there}
    for begun, ended, paths in self.pending:
      self.compare(begun, ended, [path for path in paths if path in there])
    self.pending = []

  def compare(self, begun, ended, paths):
    next_numbers = {}
    last = None
    for path in paths:
      try:
        for topic, sequence, log_time, _, _ in by_stream(path):
          if next_numbers.get(topic, 0) != sequence:
            self.mistakes.append(f"{topic} lacks something before {sequence} in {os.path.basename(path)}")
          next_numbers[topic] = sequence + 1
          last = max(last or 0, log_time / 1e9)
      except Exception as error:  # Any error of a reader that cannot read the file.
        self.mistakes.append(f"{os.path.basename(path)} cannot be read: {error!r}")
      self.known[path] = self.digest(path)
    self.message_count += sum(next_numbers.values())
    if last is not None:
      self.losses.append(ended - last)
    elif ended - begun > SYNC_SECONDS + STARTING_SECONDS:
      self.mistakes.append(f"nothing is there of {ended - begun:.1f} s")

  @staticmethod
  def digest(path):
    with open(path, "rb") as file:
      return hashlib.sha256(file.read()).digest()


def run(lanes):
  """Runs all lanes, in turns."""
  waiting = [(0, index, lane.turns()) for index, lane in enumerate(lanes)]
  while waiting:
    due, index, turns = heapq.heappop(waiting)
    time.sleep(max(0, due - time.monotonic()))
    pause = next(turns, None)
    if pause is not None:
      heapq.heappush(waiting, (time.monotonic() + pause, index, turns))


def measure(bench, count, what, volumes):
  need_mcap()
  lanes = [
    Lane(bench, number, count // LANES + (number < count % LANES), volume) for number, volume in enumerate(volumes)]
  run([lane for lane in lanes if lane.tries > 0])
  losses = sorted(loss for lane in lanes for loss in lane.losses)
  if not losses:
    raise Lacking("so few have hit no recording")
  mistakes = [mistake for lane in lanes for mistake in lane.mistakes]
  for mistake in mistakes[:10]:
    bench.say(mistake)
  bench.expect(
    not mistakes,
    f"{count} {what}: {sum(lane.message_count for lane in lanes)} messages are there, {len(mistakes)} times something is lacking, "
    "unreadable, or not what it was")
  bench.expect(
    losses[-1] <= SYNC_SECONDS + SLACK_SECONDS,
    f"what is there ends at most {losses[-1]:.2f} s before that ({losses[len(losses) // 2]:.2f} in the middle), "
    f"sync each {SYNC_SECONDS} s")
  largest = max(lane.largest for lane in lanes)
  bench.expect(
    largest <= MEGABYTES * 1_000_000, f"the ring has at most {largest} bytes, of {MEGABYTES * 1_000_000} that it may have")


def measure_kills(bench, count):
  measure(bench, count, "kill -9", [None] * LANES)


def measure_power_cuts(bench, count):
  bench.need_root()
  volumes = [bench.enter_context(Volume(bench, f"lane-{number}-disk", 32)) for number in range(LANES)]
  measure(bench, count, "stops of the disk", volumes)
