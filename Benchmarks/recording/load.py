"""Measures what recording adds to a busy hub: two hubs run side by side, each with a listener, and one of them records."""

import os, time
from hub import BUSY, Listener

SETTLING_SECONDS = 15


def measure(bench, seconds):
  plain = bench.hub("plain", None, devices=BUSY)
  recording = bench.hub("recording", "maximumMegabytes: 100", devices=BUSY)
  hubs = [plain.start(), recording.start()]
  started = time.monotonic()
  listeners = [bench.enter_context(Listener(hub)) for hub in hubs]
  for hub in hubs:
    hub.wait(lambda hub=hub: hub.said("gps: tracking"), "a fix")
  time.sleep(SETTLING_SECONDS)
  since = time.monotonic()
  before = [hub.processor_seconds for hub in hubs]
  time.sleep(seconds)
  used = [hub.processor_seconds - start for hub, start in zip(hubs, before)]
  memory = [hub.resident_bytes for hub in hubs]
  now = time.monotonic()
  served = [listener.count(since, now) / (now - since) for listener in listeners]
  recorded = sum(map(os.path.getsize, recording.segments)) / (now - started)
  share = (used[1] - used[0]) / (now - since)
  bench.expect(
    share <= 0.02,
    f"recording adds {share:.2%} of a core, wish 2 % ({used[1] / (now - since):.2%} against {used[0] / (now - since):.2%}, "
    f"1 kHz IMU, 10 Hz receiver, {served[1]:.1f} states/s, {recorded / 1000:.0f} kB/s recorded)")
  more = memory[1] - memory[0]
  bench.expect(
    more <= 8 << 20,
    f"recording adds {more / 1e6:.1f} MB of resident memory, wish 8 MB ({memory[1] / 1e6:.1f} against {memory[0] / 1e6:.1f})")
