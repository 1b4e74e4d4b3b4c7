"""One client of a hub, which notes when its values arrive."""

import json, threading, time
from process import Trouble, until


class Stream:
  """
  interval: seconds between two values, as the client requested them.
  receive: waits for the next bytes, and returns them with the time at which they arrived. It raises OSError when the connection ends.
  is_value: whether a line is one of the client's values. A state without the part that the client wants is not one.
  devices: the devices that measure them.
  """

  def __init__(self, name, interval, receive, is_value, devices):
    self.name = name
    self.interval = interval
    self.receive = receive
    self.is_value = is_value
    self.devices = devices
    self.arrivals = []
    # The arrival times of states that are not values.
    self.lacking = []
    self.end = None
    threading.Thread(target=self.read, daemon=True).start()

  def read(self):
    rest = b""
    try:
      while True:
        data, at = self.receive()
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
          if self.is_value(line):
            self.arrivals.append(at)
          elif b'"class":"STATE"' in line:
            self.lacking.append(at)
          elif b'"class":"ERROR"' in line:
            raise OSError(json.loads(line)["message"])
    except OSError as error:
      self.end = str(error)

  def wait(self, count):
    """Waits until that many values have arrived."""
    if not until(60, lambda: len(self.arrivals) >= count or self.end):
      raise Trouble(f"the {self.name} received {len(self.arrivals)} values in a minute")
    self.check()

  def check(self):
    if self.end:
      raise Trouble(f"the connection of the {self.name} has ended: {self.end}")

  def gaps(self, calm, busy):
    """
    The times between two values, the shortest first, in seconds: (those within one of the calm spans, those that are at least partly in
    one of the busy spans).
    """
    pairs = list(zip(self.arrivals, self.arrivals[1:]))
    return (
      sorted(after - before for before, after in pairs if any(begin <= before and after <= end for begin, end in calm)),
      sorted(after - before for before, after in pairs if any(before < end and begin < after for begin, end in busy)))


def of_socket(connection):
  def receive():
    data = connection.recv(65536)
    if not data:
      raise OSError("the hub has closed it")
    return data, time.monotonic()
  return receive


def of_broker(client):
  def receive():
    payload, at = client.message(1)
    return payload + b"\n" if payload else b"", at
  return receive
