"""A network of its own: a namespace of the kernel's, of which nothing else on this machine takes notice."""

import contextlib, ctypes, os, subprocess
from process import Trouble, need

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NETWORK = 0x40000000


class Space:
  """There until this is closed, or the benchmark ends, and the programs in it have ended."""

  def __init__(self):
    need("ip", "ss")
    with self.kept_here():
      if LIBC.unshare(NEW_NETWORK) != 0:
        raise Trouble("there is no network namespace to be had")
      self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    self.ip("link set lo up")

  @staticmethod
  @contextlib.contextmanager
  def kept_here():
    """The calling thread is back afterwards where it is now."""
    with open("/proc/thread-self/ns/net") as here:
      try:
        yield
      finally:
        enter(here.fileno())

  @contextlib.contextmanager
  def inside(self):
    """For the calling thread: what it opens and starts meanwhile is in this network, and stays there."""
    with self.kept_here():
      enter(self.descriptor)
      yield

  def run(self, *command):
    """Returns what it printed."""
    with self.inside():
      done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
      raise Trouble(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout

  def ip(self, words):
    self.run("ip", *words.split())

  @property
  def tries(self):
    """How many connections have been begun in it so far."""
    with self.inside(), open("/proc/thread-self/net/snmp") as counters:
      names, values = [line.split()[1:] for line in counters if line.startswith("Tcp:")]
    return int(values[names.index("ActiveOpens")])

  def close(self):
    os.close(self.descriptor)


def enter(descriptor):
  if LIBC.setns(descriptor, NEW_NETWORK) != 0:
    raise OSError(ctypes.get_errno(), "setns")
