"""Observes the power from outside: reads the changes that the program at the receiver's end reports."""

import collections, os, threading, time


class Change(collections.namedtuple("Change", "is_on at")):
  """at: monotonic time in seconds."""


class Line:
  """
  what: `line` for the level of the power line, or `tty` for whether the hub has the receiver's tty open, as it has while the power is on.
  is_shared: whether the other end has the same clock. Otherwise the time of a change is the time at which its report arrives.
  """

  def __init__(self, descriptor, what, is_shared):
    self.what = what
    self.is_shared = is_shared
    self.changes = []
    self.epochs = {}
    self.is_ready = False
    self.condition = threading.Condition()
    threading.Thread(target=self.read, args=(descriptor,), daemon=True).start()

  def read(self, descriptor):
    with os.fdopen(descriptor, "rb", buffering=0) as file:
      rest = b""
      while data := file.read(65536):
        now = time.monotonic()
        *lines, rest = (rest + data).split(b"\n")
        with self.condition:
          for line in lines:
            self.take(line.decode().split(), now)
          self.condition.notify_all()

  def take(self, words, now):
    if len(words) != 3:
      return
    what, value, at = words
    at = int(at) / 1e9 if self.is_shared else now
    if what == "ready":
      self.is_ready = True
    elif what == "epoch":
      self.epochs[value] = at
    elif what == self.what:
      self.changes.append(Change(value == "1", at))

  @property
  def is_high(self):
    with self.condition:
      return bool(self.changes) and self.changes[-1].is_on

  @property
  def count(self):
    with self.condition:
      return len(self.changes)

  def wait(self, is_on, seconds, since=0):
    """Waits until the line has this level, and returns when it changed; None if it does not change within this many seconds.
    since: the number of changes to ignore.
    """
    with self.condition:
      self.condition.wait_for(lambda: len(self.changes) > since and self.changes[-1].is_on == is_on, seconds)
      if len(self.changes) > since and self.changes[-1].is_on == is_on:
        return self.changes[-1].at
    return None
