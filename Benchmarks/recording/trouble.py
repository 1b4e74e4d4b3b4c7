"""Measures a hub while something is wrong with its recordings' disk or folder, or with its clock: what it logs, and whether it serves."""

import contextlib, os, shutil, statistics, struct, subprocess, time
from bench import Lacking, until
from hub import BUSY, QUICK, Listener
from recorded import by_stream, make_segments, need_mcap
from volume import Volume

# A clock that is offset by the number of nanoseconds in a file.
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
static volatile int64_t *offset;
__attribute__((constructor)) static void begin(void) {
  offset = mmap(0, 8, PROT_READ, MAP_SHARED, open(getenv("CLOCK_OFFSET"), O_RDONLY | O_CLOEXEC), 0);
}
int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int error = real(clock, now);
  if (clock == CLOCK_REALTIME && offset && offset != MAP_FAILED) now->tv_sec += *offset / 1000000000;
  return error;
}
"""
YEAR_SECONDS = 365 * 86400


class Trouble:
  """A hub that records and has a listener, before, during and after the trouble."""

  def __init__(self, bench, name, hub, seconds):
    self.bench, self.name, self.hub, self.seconds = bench, name, hub, seconds

  def run(self, begin, end, is_said=None, is_over=None):
    """is_said and is_over: the words to wait for in the log when the trouble begins and when it is over, if there are any."""
    self.hub.start()
    with Listener(self.hub) as listener:
      self.hub.wait(lambda: self.hub.said("recording to") and listener.stamps, "record")
      time.sleep(6)
      heard = len(self.hub.log)
      since = time.monotonic()
      begin()
      self.hear(is_said, heard)
      time.sleep(self.seconds)
      said, heard = self.words(heard)
      now = time.monotonic()
      end()
      self.hear(is_over, heard)
      time.sleep(6)
      afterwards, _ = self.words(heard)
      gap = listener.longest_gap(since, now)
      rate = listener.count(since, now) / (now - since)
    code = self.hub.stop()
    self.bench.expect(
      code == 0 and gap < 1 and rate > 9,
      f"{self.name}: {rate:.1f} states/s, none for {gap:.2f} s at most; it said {said}; afterwards {afterwards}; exit code {code}")

  def hear(self, words, heard):
    if words:
      until(90, lambda: self.hub.process.poll() is not None or words in self.hub.log[heard:])

  def words(self, heard):
    """The new lines of the log that are not about a device, without the path of the folder."""
    log = self.hub.log
    lines = [
      line.partition(" ")[2].replace(os.path.dirname(self.hub.recordings), "") for line in log[heard:].splitlines()
      if not any(device in line for device in (" gps:", " imu:"))]
    return " / ".join(lines) or "nothing", len(log)


def volume(bench, name, megabytes, options="noatime"):
  return bench.enter_context(Volume(bench, name, megabytes, options))


def on(disk):
  return disk.path + "/recordings"


def mount_again(disk):
  """Mounts the disk again after the hub has closed its files."""
  until(30, lambda: subprocess.run(["umount", disk.path], capture_output=True).returncode == 0)
  subprocess.run(["e2fsck", "-fy", disk.image], capture_output=True)
  disk.mount()


def measure_full(bench, seconds, name="a full disk", older=0):
  """older: the number of megabytes of older recordings on the disk."""
  disk = volume(bench, name, 32)
  if older:
    make_segments(on(disk), older, 1_000_000)
  hub = bench.hub(name + " hub", "maximumMegabytes: 100, syncSeconds: 1", devices=BUSY, recordings=on(disk))

  def fill():
    with contextlib.suppress(OSError), open(disk.path + "/filler", "wb", buffering=0) as filler:
      while filler.write(bytes(1 << 16)):
        pass

  Trouble(bench, name, hub, seconds).run(
    fill, lambda: os.unlink(disk.path + "/filler"), "disk is full" if older else "recording stopped",
    None if older else "recording works again")


def measure_full_of_recordings(bench, seconds):
  need_mcap()
  measure_full(bench, seconds, "a full disk with older recordings", 3)


def measure_read_only(bench, seconds):
  disk = volume(bench, "read-only", 32, "noatime,errors=remount-ro")
  hub = bench.hub("read-only-hub", "syncSeconds: 1", recordings=on(disk))
  Trouble(bench, "a disk that has become read-only", hub, seconds).run(
    disk.fail, lambda: mount_again(disk), "recording stopped", "recording works again")


def measure_gone(bench, seconds):
  disk = volume(bench, "gone", 32)
  hub = bench.hub("gone-hub", "syncSeconds: 1", recordings=on(disk))
  Trouble(bench, "a disk that answers no more", hub, seconds).run(
    disk.stop, lambda: mount_again(disk), "recording stopped", "recording works again")


def measure_removed(bench, seconds):
  hub = bench.hub("removed-hub", "syncSeconds: 1")
  Trouble(bench, "a folder that was removed", hub, seconds).run(
    lambda: shutil.rmtree(hub.recordings), lambda: None, "works again")


def measure_slow(bench, seconds):
  need_mcap()
  disk = volume(bench, "slow", 32)
  hub = bench.hub("slow-hub", "syncSeconds: 1", devices=BUSY, recordings=on(disk))
  moments = []

  def freeze():
    moments.append(time.time())
    disk.freeze()

  def thaw():
    disk.thaw()
    moments.append(time.time())

  try:
    Trouble(bench, "a disk that takes nothing", hub, seconds).run(freeze, thaw)
  finally:
    disk.thaw()
  # The delay of each batch, relative to the usual delay.
  delays = [
    (log_time / 1e9, (log_time - publish_time) / 1e9) for path in hub.segments
    for topic, _, log_time, publish_time, _ in by_stream(path) if topic == "/imu/imu/batch"]
  usual = statistics.median(delay for _, delay in delays)
  begin, end = moments
  while_slow = [delay - usual for at, delay in delays if begin < at < end]
  before = [delay - usual for at, delay in delays if at < begin and at > begin - 5]
  bench.say(
    f"meanwhile the IMU was read at most {max(while_slow) * 1000:.1f} ms late ({of_a_hundred(while_slow):.1f} in 99 of 100 "
    f"cases), before that {max(before) * 1000:.1f} ({of_a_hundred(before):.1f}); {len(while_slow)} batches of then are recorded")


def of_a_hundred(delays):
  """The 99 % quantile, in milliseconds."""
  return statistics.quantiles(delays, n=100)[98] * 1000


def measure_clock(bench, seconds):
  need_mcap()
  if not shutil.which("cc"):
    raise Lacking("needs cc, for a clock that can be put back: apt-get install gcc libc6-dev")
  library, source, offset = bench.path("clock.so"), bench.path("clock.c"), bench.path("offset")
  with open(source, "w") as file:
    file.write(CLOCK)
  subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)

  def put(forward):
    with open(offset, "r+b" if os.path.exists(offset) else "wb") as file:
      file.write(struct.pack("<q", forward * 1_000_000_000))

  put(0)
  hub = bench.hub(
    "clock-hub", "syncSeconds: 1, maximumMegabytes: 4, maximumAgeHours: 1", devices=QUICK,
    environment={"LD_PRELOAD": library, "CLOCK_OFFSET": offset})
  Trouble(bench, "a clock that is put back by a year, and right again", hub, seconds).run(
    lambda: put(-YEAR_SECONDS), lambda: put(0))
  numbers = {}
  lacking = 0
  for path in hub.segments:
    for topic, sequence, *_ in by_stream(path):
      lacking += sequence != numbers.get(topic, 0)
      numbers[topic] = sequence + 1
  bench.expect(lacking == 0, f"of that {sum(numbers.values())} messages are recorded, {lacking} gaps in their numbers")


def measure(bench, seconds):
  cases = [measure_removed, measure_clock]
  if os.geteuid() == 0:
    cases = [measure_full, measure_full_of_recordings, measure_read_only, measure_gone, measure_slow, *cases]
  else:
    bench.say("left out: a disk that is full, read-only, gone or slow needs root")
  for case in cases:
    try:
      case(bench, seconds)
    except Lacking as lacking:
      bench.say(f"left out: {lacking}")
