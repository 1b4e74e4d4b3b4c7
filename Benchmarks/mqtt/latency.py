"""Measures the time from a viewer's request until the power is on, and from the receiver's last byte until the viewer has the state."""

import json, random, time
from broker import PORT
from client import Client
from switch import ADDRESS
from watched import TOPIC


def measure_rise(bench, count):
  """From a viewer's request until the power line is high or, without a line, until the hub opens the receiver's tty."""
  bench.say(f"{bench.broker.version}, {bench.hub.what}")
  client = Client(bench.viewers, (ADDRESS, PORT), "viewer")
  line, times, missed = bench.hub.line, [], 0
  for _ in range(count):
    known = line.count
    said = client.retain(f"{TOPIC}/interest/viewer/position", '{"rateHz": 1}')
    risen = line.wait(True, 5, known)
    if risen is None:
      missed += 1
    else:
      times.append(risen - said)
    known = line.count
    client.retain(f"{TOPIC}/interest/viewer/position", "")
    if line.wait(False, 10, known if line.is_high else 0) is None:
      missed += 1
    time.sleep(random.uniform(0.05, 0.15))
  client.close()
  bench.expect(missed == 0, f"the line has not followed {missed} of {2 * count} times")
  what = "the power line is up" if bench.hub.kernel else "the receiver's tty is open"
  bench.say_times(f"from a viewer's word until {what}", times, promised=20)


def measure_epochs(bench, count):
  """From the last byte of an epoch at the tty until the state arrives at a viewer."""
  bench.say(f"{bench.broker.version}, {bench.hub.what}")
  if bench.hub.kernel:
    return bench.say("left out: the receiver's clock is not the viewer's")
  client = Client(bench.viewers, (ADDRESS, PORT), "viewer", [f"{TOPIC}/state/position"])
  client.retain(f"{TOPIC}/interest/viewer/position", '{"rateHz": 50}')
  # The first epochs show which message ends an epoch.
  arrivals, skipped = {}, 20
  end = time.monotonic() + 30 + (count + skipped) / bench.hub.rate
  while len(arrivals) < count + skipped and time.monotonic() < end:
    payload, at = client.message(2)
    if payload:
      clock = json.loads(payload).get("fix", {}).get("time")
      if clock:
        # 2026-01-02T10:11:12.300Z
        arrivals.setdefault(clock[11:22].replace(":", ""), at)
  client.retain(f"{TOPIC}/interest/viewer/position", "")
  client.close()
  with bench.hub.line.condition:
    epochs = dict(bench.hub.line.epochs)
  times = [at - epochs[clock] for clock, at in list(arrivals.items())[skipped:] if clock in epochs]
  bench.expect(len(times) >= count, f"{len(times)} of {count} epochs have come to the viewer")
  if times:
    bench.say_times("from an epoch's last byte at the tty to the viewer", times, promised=2)
