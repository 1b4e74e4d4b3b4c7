"""Observes as the kernel does whether a program opens or closes a tty."""

import ctypes, os, struct
from process import Trouble

IN_OPEN, IN_CLOSE, IN_DELETE_SELF = 0x20, 0x18, 0x400


class WatchedTerminal:
  """
  The only tty that a process has open.
  other: a tty that does not count; it need not exist.
  """

  def __init__(self, pid, other):
    paths = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
      try:
        path = os.readlink(f"/proc/{pid}/fd/{name}")
      except OSError:
        continue
      if path.startswith("/dev/pts/") and path not in ("/dev/pts/ptmx", os.path.realpath(other)):
        paths.add(path)
    if len(paths) != 1:
      raise Trouble(f"the hub has {len(paths)} ttys open, not 1")
    libc = ctypes.CDLL(None, use_errno=True)
    self.watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    self.path = paths.pop()
    if libc.inotify_add_watch(self.watch, self.path.encode(), IN_OPEN | IN_CLOSE | IN_DELETE_SELF) < 0:
      raise Trouble(f"{self.path} cannot be watched: {os.strerror(ctypes.get_errno())}")

  def take(self):
    """The number of changes since the last call."""
    count = 0
    while True:
      try:
        events = os.read(self.watch, 65536)
      except BlockingIOError:
        return count
      while events:
        length = struct.unpack("iIII", events[:16])[3]
        events = events[16 + length:]
        count += 1
