"""The parts that the measurements of faults and latencies share: three networks, a broker, a hub and its viewers."""

import contextlib, os, shutil, tempfile
from broker import Broker
from process import start
from report import Report
from switch import ADDRESS, Switch
from watched import WatchedHub


class Bench(contextlib.ExitStack, Report):
  def __init__(self, sensorhub, mosquitto, kernel, part, **hub):
    super().__init__()
    self.sensorhub = sensorhub
    self.title = f"faults: {part}"
    self.folder = tempfile.mkdtemp(prefix="sensorhub-faults-")
    self.callback(shutil.rmtree, self.folder, ignore_errors=True)
    try:
      self.switch = self.enter_context(contextlib.closing(Switch("viewer") if kernel else Switch("viewer", "hub")))
      if kernel:
        self.switch.tap("hub")
      self.broker = Broker(self.path("broker"), self.switch.space, ADDRESS, mosquitto)
      self.callback(self.broker.stop)
      self.broker.start()
      self.hub = WatchedHub(sensorhub, self.path("hub"), self.switch, self.broker, kernel, **hub)
      self.callback(self.hub.stop)
      self.hub.start()
    except BaseException:
      self.close()
      raise

  def path(self, name):
    return os.path.join(self.folder, name)

  @property
  def viewers(self):
    """The network of the viewers."""
    return self.switch.spaces["viewer"]

  def watch(self):
    """Starts `sensorhub watch` in the viewers' network."""
    url = f"{self.broker.url}/{self.hub.name}"
    return start([self.sensorhub, "watch", "--json", "--parts", "position", url], self.path("viewer.log"), self.viewers)
