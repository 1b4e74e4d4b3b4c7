#!/usr/bin/env python3
"""A receiver at a pseudo-terminal, which also reports what is visible of its power from outside: receiver.py TTY HZ [LEVEL CHIP]

TTY is the name to give to the tty. While a program has the tty open, the receiver sends HZ epochs per second to it. LEVEL is the file
with the level of the power line, CHIP the device of the line's chip: with these the receiver is silent while the line is low.
The standard output has a line for each change, with the monotonic time in nanoseconds: `tty 1 …` opened, `tty 0 …` closed, `line 1 …`,
`line 0 …`, and `epoch 101112.30 …` when the last byte of an epoch has been written.
"""

import ctypes, functools, operator, os, select, struct, sys, time, tty

IN_OPEN, IN_CLOSE = 0x20, 0x18
# How long a line is read frequently after its chip was opened or closed, and the interval.
CLOSELY, LOOK = 0.03, 0.0005


def say(*words):
  os.write(1, (" ".join(map(str, words)) + f" {time.monotonic_ns()}\n").encode())


def sentence(text):
  return f"${text}*{functools.reduce(operator.xor, text.encode()):02X}\r\n"


def epoch(now):
  """An epoch of a car that drives north at 36 km/h; returns the time in the epoch, and its bytes."""
  at = time.gmtime(now)
  clock = f"{at.tm_hour:02}{at.tm_min:02}{at.tm_sec:02}.{int(now * 100) % 100:02}"
  place = f"52{30 + now % 600 / 600 * 3.24:08.5f},N,01324.00000,E"
  date = f"{at.tm_mday:02}{at.tm_mon:02}{at.tm_year % 100:02}"
  return clock, (
    sentence(f"GPRMC,{clock},A,{place},19.44,0.0,{date},,,A") + sentence(f"GPGGA,{clock},{place},1,10,0.9,40.0,M,45.0,M,,")
    + sentence("GPGSA,A,3,01,02,03,04,05,06,07,08,09,10,,,1.6,0.9,1.3")).encode()


class Receiver:
  def __init__(self, name, rate, level=None, chip=None):
    self.rate = float(rate)
    self.master, slave = os.openpty()
    path = os.ttyname(slave)
    tty.setraw(slave)
    os.close(slave)
    os.chmod(path, 0o666)
    if os.path.lexists(name):
      os.unlink(name)
    os.symlink(path, name)
    os.set_blocking(self.master, False)
    libc = ctypes.CDLL(None, use_errno=True)
    self.watch = libc.inotify_init1(os.O_NONBLOCK)
    self.tty_watch = libc.inotify_add_watch(self.watch, path.encode(), IN_OPEN | IN_CLOSE)
    self.level = os.open(level, os.O_RDONLY) if level else None
    if chip:
      libc.inotify_add_watch(self.watch, chip.encode(), IN_OPEN | IN_CLOSE)
    self.open_count = 0
    self.is_high = False
    self.closely_until = 0

  @property
  def is_on(self):
    return self.open_count > 0 and (self.level is None or self.is_high)

  def look(self):
    """Reads the level of the power line, and reports a change."""
    if self.level is None:
      return
    is_high = os.pread(self.level, 1, 0) == b"1"
    if is_high != self.is_high:
      self.is_high = is_high
      say("line", int(is_high))

  def take(self):
    """Handles the events of the watched files."""
    try:
      events = os.read(self.watch, 65536)
    except BlockingIOError:
      return
    self.closely_until = time.monotonic() + CLOSELY
    while events:
      watch, mask, _, length = struct.unpack("iIII", events[:16])
      events = events[16 + length:]
      if watch != self.tty_watch:
        continue
      before = self.open_count
      self.open_count += 1 if mask & IN_OPEN else -1
      if (before > 0) != (self.open_count > 0):
        say("tty", int(self.open_count > 0))

  def drain(self):
    """Discards what the hub sends to the receiver."""
    try:
      while os.read(self.master, 4096):
        pass
    except OSError:
      pass

  def run(self):
    say("ready", 1)
    due = time.time()
    while True:
      pause = 0.25
      if self.is_on:
        pause = max(0, due - time.time())
      if self.level is not None and time.monotonic() < self.closely_until:
        pause = min(pause, LOOK)
      select.select([self.watch], [], [], pause)
      self.take()
      self.look()
      self.drain()
      now = time.time()
      if now < due:
        continue
      # Epochs are at multiples of the interval.
      due = (int(now * self.rate + 1e-6) + 1) / self.rate
      if self.is_on:
        clock, data = epoch(int(now * self.rate + 1e-6) / self.rate)
        try:
          written = os.write(self.master, data)
          if written == len(data):
            say("epoch", clock)
        except OSError:
          pass


Receiver(*sys.argv[1:]).run()
