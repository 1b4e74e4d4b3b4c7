"""How a figure is said, and beside it what was promised."""

import statistics


class Report:
  """title: what each line begins with."""

  title = ""
  has_failed = False

  def say(self, text):
    print(f"{self.title}: {text}", flush=True)

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
