"""Prints figures, with the promised values."""

import statistics


class Report:
  """title: the beginning of each line."""

  title = ""
  has_failed = False

  def say(self, text):
    print(f"{self.title}: {text}", flush=True)

  def expect(self, is_so, text):
    """Prints a figure, and whether it is as promised."""
    self.has_failed = self.has_failed or not is_so
    self.say(text if is_so else f"{text} - NOT AS PROMISED")

  def say_times(self, what, seconds, promised=None):
    """Prints the median, the 95 % quantile and the worst of the times. promised: the largest median, in milliseconds."""
    ordered = sorted(1000 * second for second in seconds)
    median = statistics.median(ordered)
    late = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    self.expect(
      promised is None or median <= promised,
      f"{what}: median {median:.2f} ms, 95 % {late:.2f} ms, worst {ordered[-1]:.2f} ms of {len(ordered)}"
      + (f" (promised: a median of {promised} ms)" if promised else ""))
