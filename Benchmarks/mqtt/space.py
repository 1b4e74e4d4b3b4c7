"""A network namespace, which is separate from the rest of this machine."""

import contextlib, ctypes, os, subprocess
from process import Trouble, need

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NETWORK = 0x40000000


class Space:
  """The namespace exists until this object is closed, or until the benchmark and all programs in the namespace have ended."""

  def __init__(self):
    need("ip", "ss")
    with self.kept_here():
      if LIBC.unshare(NEW_NETWORK) != 0:
        raise Trouble("cannot create a network namespace")
      self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    self.ip("link set lo up")

  @staticmethod
  @contextlib.contextmanager
  def kept_here():
    """After the block the calling thread is in its former namespace again."""
    with open("/proc/thread-self/ns/net") as here:
      try:
        yield
      finally:
        enter(here.fileno())

  @contextlib.contextmanager
  def inside(self):
    """In the block the calling thread is in this namespace. Sockets that it opens and programs that it starts there stay in it."""
    with self.kept_here():
      enter(self.descriptor)
      yield

  def run(self, *command):
    """Runs a command in the namespace, and returns its output."""
    with self.inside():
      done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
      raise Trouble(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout

  def ip(self, words):
    self.run("ip", *words.split())

  @property
  def tries(self):
    """How many connections have been begun in the namespace so far."""
    with self.inside(), open("/proc/thread-self/net/snmp") as counters:
      names, values = [line.split()[1:] for line in counters if line.startswith("Tcp:")]
    return int(values[names.index("ActiveOpens")])

  def close(self):
    os.close(self.descriptor)


def enter(descriptor):
  if LIBC.setns(descriptor, NEW_NETWORK) != 0:
    raise OSError(ctypes.get_errno(), "setns")
