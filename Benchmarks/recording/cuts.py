"""Checks whether other programs can read the recordings, and how much of a recording remains if it was cut anywhere."""

import json, os, random, time
from recorded import message_ends, need_mcap, readers
from replay import recordings

NAME = "sensorhub-20200101T000000Z-{:04}.mcap"


def measure_readers(bench, seconds):
  need_mcap()
  paths = recordings(bench, seconds)
  told = json.loads(bench.run("info", "--json", *paths))
  files = [file["path"] for file in told["files"]]
  for name, read in readers().items():
    start = time.monotonic()
    count = sum(1 for path in files for _ in read(path))
    bench.expect(
      count == told["all"]["messages"],
      f"{name} reads {count} of {told['all']['messages']} messages in {len(files)} files, checksums and all, "
      f"in {time.monotonic() - start:.0f} s")


def measure(bench, count):
  """A hub without clients repairs the recordings that it finds, and records nothing."""
  need_mcap()
  recorded = bench.hub("recorded", "wakes: true, syncSeconds: 1").start()
  recorded.wait(lambda: recorded.segments, "record")
  time.sleep(20)
  recorded.stop()
  with open(recorded.segments[0], "rb") as file:
    whole = file.read()
  messages = list(readers()["StreamReader"](recorded.segments[0]))
  ends = message_ends(whole)
  assert len(ends) == len(messages)

  hub = bench.hub("repairing", "maximumMegabytes: 1000000")
  os.mkdir(hub.recordings)
  cuts = [random.randrange(len(whole)) for _ in range(count)]
  for number, cut in enumerate(cuts):
    with open(f"{hub.recordings}/{NAME.format(number)}", "wb") as file:
      file.write(whole[:cut])
  hub.start()
  start = time.monotonic()
  hub.wait(lambda: len(hub.said("is repaired", "cannot be repaired")) == count, "repair them all", seconds=600)
  took = time.monotonic() - start
  hub.stop()
  unreadable, wrong, lost, lost_seconds, breaches = 0, 0, 0, 0.0, 0
  for number, cut in enumerate(cuts):
    # The messages before the cut, and among them those before the last sync.
    before = sum(end <= cut for end, _ in ends)
    sure = sum(synced <= cut for _, synced in ends)
    for name, read in readers().items():
      try:
        found = list(read(f"{hub.recordings}/{NAME.format(number)}"))
      except Exception:  # Any error of a reader that cannot read the file.
        unreadable += 1
        continue
      wanted = messages[: len(found)]
      if name != "StreamReader":
        wanted = sorted(wanted, key=lambda message: message[2])
      wrong += found != wanted
      lost = max(lost, before - len(found))
      breaches += len(found) < sure
      if before > len(found):
        lost_seconds = max(lost_seconds, (messages[before - 1][2] - messages[len(found)][2]) / 1e9)
  bench.expect(
    unreadable == 0 and wrong == 0,
    f"{count} copies of {len(whole) / 1e3:.0f} kB cut anywhere, made whole in {took:.1f} s: of {3 * count} readings by Python's "
    f"three readers {unreadable} failed, {wrong} had other messages")
  bench.expect(
    breaches == 0,
    f"of what lay before the cut at most {lost} messages of {lost_seconds:.2f} s are lost, sync each 1 s; "
    f"what lay before the last sync {breaches} times")
