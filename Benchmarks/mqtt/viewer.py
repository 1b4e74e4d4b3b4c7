"""A viewer of hubs at a broker. Its session outlives its connection, so that it also gets values that arrive while it is away."""

import json, subprocess

# Longer than any measurement. A request with its own duration survives an outage.
FOR_SECONDS = 7200


class Viewer:
  def __init__(self, broker, folder, hubs):
    self.broker = broker
    self.hubs = hubs
    self.path = folder + "/viewer.log"
    self.process = broker.client(
      "mosquitto_sub", "-i", "viewer", "-c", "-x", FOR_SECONDS, "-F", "%U %t %p",
      *[word for hub in hubs for word in ("-t", f"sensorhub/{hub}/state/position")], log=self.path, stderr=subprocess.DEVNULL)
    for hub in hubs:
      self.ask(hub, json.dumps({"rateHz": 1, "for": FOR_SECONDS}))

  def ask(self, hub, what):
    self.broker.retain(f"sensorhub/{hub}/interest/viewer/position", what)

  def leave(self):
    for hub in self.hubs:
      self.ask(hub, "")

  def received(self):
    """For each hub the values that have arrived so far, in order of arrival: (time, number of the value)."""
    values = {hub: [] for hub in self.hubs}
    with open(self.path, errors="replace") as log:
      for line in log:
        if not line.endswith("}\n"):
          continue
        when, topic, payload = line.split(" ", 2)
        number = json.loads(payload)["id"].rpartition("-")[2]
        values[topic.split("/")[1]].append((float(when), int(number)))
    return values

  def account(self):
    """(values, duplicates, missing values, values out of order). The values of each hub are numbered from one on."""
    total = twice = missing = disordered = 0
    for values in self.received().values():
      numbers = [number for _, number in values]
      first = list(dict.fromkeys(numbers))
      total += len(numbers)
      twice += len(numbers) - len(first)
      missing += max(numbers, default=1) - len(first)
      disordered += sum(1 for a, b in zip(first, first[1:]) if b < a)
    return total, twice, missing, disordered

  def end(self):
    self.process.kill()
    self.process.wait()
