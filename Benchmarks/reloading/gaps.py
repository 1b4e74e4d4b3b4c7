"""Measures the gaps in the streams of kept devices while the board file is reloaded, and at other times."""

import random, statistics, time
from process import Trouble
from terminal import WatchedTerminal

# How much longer than the client's own interval a gap may be, in seconds.
LONGEST_PAUSE = 0.1
# How long a reload may take, in seconds.
LONGEST_RELOAD = 30
# How long the streams are observed after the hub has reported a reload, in seconds.
AFTERWARDS = 0.6
# The longest time until the next reload, in seconds. The end of a changed receiver is slow only soon after its start.
LONGEST_CALM = 1.2
# How often the status is read, in seconds.
LOOK = 0.05


class Observation:
  """The times with and without reloads, and what the hub said of its devices at these times."""

  def __init__(self, bench):
    self.hub = bench.hub
    self.calm = []
    self.busy = []
    self.looks = 0
    self.other_holders = []
    self.other_states = []
    self.reload_times = []
    self.begin = self.hub.status()
    self.lines = len(self.hub.lines_of_kept_devices)

  def look(self):
    status = self.hub.status()
    self.looks += 1
    for name in self.hub.kept:
      if (holders := sorted(status[name]["holders"])) != sorted(self.begin[name]["holders"]):
        self.other_holders.append(f"{name}: {', '.join(holders) or 'none'}")
      if status[name]["power"] != self.begin[name]["power"]:
        self.other_states.append(f"{name}: {status[name]['power']}")

  def wait(self, is_over):
    begin = time.monotonic()
    while not is_over(time.monotonic() - begin):
      if time.monotonic() - begin > LONGEST_RELOAD:
        raise Trouble(f"the hub has not reloaded its board file: {self.hub.log[-2000:]}")
      self.look()
      time.sleep(LOOK)
    return begin, time.monotonic()

  def stay_calm(self):
    """Waits for about as long as the last reload was observed, so that both kinds of times are about equally long."""
    last = self.busy[-1][1] - self.busy[-1][0] if self.busy else AFTERWARDS
    end = min(last, LONGEST_CALM) + random.uniform(-0.2, 0.2)
    self.calm.append(self.wait(lambda seconds: seconds >= end))

  def reload(self, name):
    begin = time.monotonic()
    self.hub.change(name)
    _, reloaded = self.wait(lambda _: self.hub.is_reloaded)
    self.reload_times.append(reloaded - begin)
    _, end = self.wait(lambda seconds: seconds >= AFTERWARDS)
    self.busy.append((begin, end))


def measure(bench, count):
  """Measures `count` reloads, each of which changes one device; returns how long each took, in seconds."""
  hub = bench.hub
  for stream in bench.streams:
    stream.wait(20)
  tty = WatchedTerminal(hub.process.pid, hub.tty)
  seen = Observation(bench)
  for number in range(count):
    seen.stay_calm()
    seen.reload(hub.changed[number % len(hub.changed)])
  for stream in bench.streams:
    stream.check()
  tty_changes = tty.take()

  times = [1000 * seconds for seconds in seen.reload_times]
  bench.say(
    f"{count} reloads that change {' or '.join(hub.changed)}; a reload takes {statistics.median(times):.0f} ms in the median, at "
    f"most {max(times):.0f} ms")
  for stream in bench.streams:
    report_gaps(bench, stream, seen)
  end = hub.status()
  for name in hub.kept:
    before, after = seen.begin[name]["wakes"], end[name]["wakes"]
    bench.expect(before == after, f"{name}: woken {before} times until the first reload, {after} times until the end")
  bench.expect(tty_changes == 0, f"gps: its tty was opened or closed {tty_changes} times, as the kernel reports")
  lines = hub.lines_of_kept_devices[seen.lines:]
  names = ", ".join(hub.kept)
  bench.expect(not lines, f"{names}: {len(lines)} new lines in the log" + examples(lines))
  for what, others in (("holders", seen.other_holders), ("power states", seen.other_states)):
    bench.expect(not others, f"{names}: other {what} {len(others)} times; the status was read {seen.looks} times" + examples(others))
  woken = sum(end[name]["wakes"] - seen.begin[name]["wakes"] for name in hub.changed)
  bench.expect(woken == count, f"{', '.join(hub.changed)}: woken {woken} times for {count} changes")
  return seen.reload_times


def examples(texts):
  return "".join(f" / {text}" for text in sorted(set(texts))[:3])


def report_gaps(bench, stream, seen):
  calm, busy = stream.gaps(seen.calm, seen.busy)
  if not calm or not busy:
    raise Trouble(f"the {stream.name} received too few values")
  limit = stream.interval + LONGEST_PAUSE
  figure = (
    f"{stream.name}, a value every {1000 * stream.interval:.0f} ms: {figures(busy, stream.lacking, seen.busy)} with reloads; "
    f"{figures(calm, stream.lacking, seen.calm)} without")
  if any(name in bench.hub.changed for name in stream.devices):
    return bench.say(f"{figure} (its devices change)")
  if busy[-1] > limit and calm[-1] > limit:
    figure += ", so the machine is too busy"
  bench.expect(busy[-1] <= limit, f"{figure} (promised: {1000 * limit:.0f} ms with reloads)")


def figures(gaps, lacking, spans):
  late = gaps[min(len(gaps) - 1, int(0.99 * len(gaps)))]
  seconds = sum(end - begin for begin, end in spans)
  count = sum(begin <= at < end for at in lacking for begin, end in spans)
  return (
    f"longest gap {1000 * gaps[-1]:.0f} ms, 99 % {1000 * late:.0f} ms, {len(gaps)} gaps in {seconds:.0f} s, "
    f"{count} states without its part")
