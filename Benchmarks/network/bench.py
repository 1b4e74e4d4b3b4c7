"""What the parts share: places, a broker, a hub, and how a figure is said."""

import contextlib, os, shutil, signal, statistics, tempfile
from broker import Broker
from hub import Hub
from places import Places
from process import start

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Bench(contextlib.ExitStack):
  def __init__(self, sensorhub, mosquitto, kernel, part, **hub):
    super().__init__()
    self.sensorhub = sensorhub
    self.part = part
    self.has_failed = False
    self.folder = tempfile.mkdtemp(prefix="sensorhub-faults-")
    self.callback(shutil.rmtree, self.folder, ignore_errors=True)
    try:
      self.places = self.enter_context(Places(has_tap=kernel is not None))
      self.broker = Broker(mosquitto, self.path("broker"), self.places)
      self.callback(self.broker.stop)
      self.broker.start()
      self.hub = Hub(sensorhub, self.path("hub"), self.places, self.broker, kernel, **hub)
      self.callback(self.hub.stop)
      self.hub.start()
    except BaseException:
      self.close()
      raise

  @staticmethod
  def end_in_order():
    def end(number, _):
      for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
      raise SystemExit(128 + number)

    for number in ENDING:
      signal.signal(number, end)

  def path(self, name):
    return os.path.join(self.folder, name)

  def say(self, text):
    print(f"faults: {self.part}: {text}", flush=True)

  def expect(self, is_so, text):
    """Says a figure, and whether it is what was promised."""
    self.has_failed = self.has_failed or not is_so
    self.say(text if is_so else f"{text} - NOT AS PROMISED")

  def say_times(self, what, seconds, promised=None):
    """Median, 95 % and the worst of so many tries. promised: of the median, in milliseconds."""
    ordered = sorted(1000 * second for second in seconds)
    median = statistics.median(ordered)
    late = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    self.expect(
      promised is None or median <= promised,
      f"{what}: median {median:.2f} ms, 95 % {late:.2f} ms, worst {ordered[-1]:.2f} ms of {len(ordered)}"
      + (f" (promised: a median of {promised} ms)" if promised else ""))

  def viewer(self, *words, **more):
    """A program of a viewer's."""
    return start(self.places.command("viewer", *words), self.path("viewer.log"), **more)
