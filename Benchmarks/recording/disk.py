"""Measures how many bytes reach the disk for each recorded byte, in ten minutes of a hub on ext4 whose ring is full."""

import itertools, os, time
from hub import LEAN, USUAL
from recorded import by_stream, make_segments, need_mcap
from volume import Volume

MEGABYTES = 64
# The size of the segments in such a ring, minus the overhead of the format.
FILLER_BYTES = 7_980_000
# For each configuration of the hub. The limit applies to 3.3 kB/s, the rate of the lean one, which sends one state per second.
HUBS = [("usual", USUAL, 10), ("lean", LEAN, 1)]
# The seconds between two syncs, and the limit for each.
SYNCS = [(5, 1.35), (1, 2.4)]
OPTIONS = ["noatime", "noatime,lazytime", "noatime,commit=60"]
SETTLING_SECONDS = 30


def measure(bench, seconds):
  bench.need_root()
  need_mcap()
  runs = []
  for (kind, devices, state_hz), options, (sync, promised) in itertools.product(HUBS, OPTIONS, SYNCS):
    name = f"{kind}-{sync}-{options}"
    volume = bench.enter_context(Volume(bench, name, 100, options))
    hub = bench.hub(
      name, f"syncSeconds: {sync}, maximumMegabytes: {MEGABYTES}, wakes: true", devices=devices, state_hz=state_hz,
      recordings=volume.path)
    # Enough old segments that the next one overwrites the oldest.
    make_segments(volume.path, 8, FILLER_BYTES)
    runs.append((volume, hub, sync, options, promised))
  for _, hub, *_ in runs:
    hub.start()
  time.sleep(SETTLING_SECONDS)
  # Flushes now instead of at an arbitrary time.
  os.sync()
  starts = [(time.time(), volume.written_bytes) for volume, *_ in runs]
  time.sleep(seconds)
  ends = [(time.time(), volume.written_bytes) for volume, *_ in runs]
  for (volume, hub, sync, options, promised), (since, before), (until, after) in zip(runs, starts, ends):
    hub.stop()
    payload = sum(
      len(data) for path in hub.segments if "-2020" not in path
      for _, _, log_time, _, data in by_stream(path) if since <= log_time / 1e9 < until)
    ratio = (after - before) / payload
    bench.expect(
      ratio <= promised,
      f"{payload / (until - since) / 1000:.1f} kB/s for {until - since:.0f} s, sync each {sync} s, ext4 with {options}: "
      f"{ratio:.3f} bytes for each of payload, wish {promised}")
