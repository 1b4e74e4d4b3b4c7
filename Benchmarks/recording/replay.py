"""Measures how long the fastest replay takes, and checks that it gives the same bytes each time."""

import hashlib, json, os, subprocess, sys, time

HOUR = 3600


def recordings(bench, seconds):
  """Recordings at 200 Hz and 5 Hz: those that RECORDING names, or a new recording of this many seconds."""
  named = os.environ.get("RECORDING")
  if named:
    return [named]
  hub = bench.hub("recorded", "wakes: true").start()
  hub.wait(lambda: hub.segments, "record")
  time.sleep(seconds)
  hub.stop()
  return hub.segments


def timed(bench, *arguments):
  """The wall time of a command, a digest of its output, and the number of lines in the output."""
  start = time.monotonic()
  with subprocess.Popen(
    [bench.sensorhub, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
    output, errors = program.communicate()
  if program.returncode != 0:
    sys.exit(f"recorder: sensorhub {arguments[0]} has failed: {errors.decode()}")
  return time.monotonic() - start, hashlib.sha256(output).hexdigest(), output.count(b"\n")


def measure(bench, minutes):
  paths = recordings(bench, minutes * 60)
  covered = json.loads(bench.run("info", "--json", *paths))["all"]
  runs = [timed(bench, "replay", "--rate", "max", *paths) for _ in range(5)]
  best = min(seconds for seconds, *_ in runs)
  # The time that the program needs to start is the same for each recording.
  start = min(timed(bench, "--version")[0] for _ in range(5))
  factor = HOUR / covered["durationSeconds"]
  hour = start + (best - start) * factor
  scaled = f", {hour:.2f} s for an hour, as {factor:.1f} times as much" if not 0.99 < factor < 1.01 else ""
  bench.expect(
    hour <= 2,
    f"{covered['durationSeconds'] / 60:.1f} min, {covered['bytes'] / 1e6:.1f} MB, {covered['messages']} messages: "
    f"{best:.2f} s at best, {max(seconds for seconds, *_ in runs):.2f} at worst of {len(runs)}{scaled}, wish 2 s an hour")
  bench.expect(
    len({digest for _, digest, _ in runs}) == 1, f"{runs[0][2]} states, {len(runs)} runs equal byte for byte")
