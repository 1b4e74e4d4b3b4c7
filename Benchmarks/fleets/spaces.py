"""Network namespaces of their own, and cables between them. They go with the process that made them."""

import contextlib, ctypes, os, signal, subprocess, sys, time

LIBC = ctypes.CDLL(None, use_errno=True)
SET_DEATH_SIGNAL = 1
NEW_NETWORK = 0x40000000


def dies_with_parent():
  """For a child between fork and exec: whoever kills the benchmark kills it."""
  LIBC.prctl(SET_DEATH_SIGNAL, signal.SIGKILL)


def run(*command):
  done = subprocess.run(command, capture_output=True, text=True)
  if done.returncode != 0:
    sys.exit(f"fleet: {' '.join(command)}: {done.stderr.strip()}")
  return done.stdout


class Space:
  """A network namespace; with `own` that of this process, which is made anew."""

  def __init__(self, own=False):
    self.process = None
    if own:
      if LIBC.unshare(NEW_NETWORK) != 0:
        sys.exit("fleet: there is no network namespace to be had")
      self.path = f"/proc/{os.getpid()}/ns/net"
    else:
      before = os.readlink("/proc/self/ns/net")
      self.process = subprocess.Popen(
        ["unshare", "--net", "sleep", "infinity"], stdin=subprocess.DEVNULL, preexec_fn=dies_with_parent)
      self.path = f"/proc/{self.process.pid}/ns/net"
      while os.readlink(self.path) == before:
        time.sleep(0.01)
    self.ip("link", "set", "lo", "up")

  def ip(self, *arguments):
    run("nsenter", "--net=" + self.path, "ip", *arguments)

  def enter(self):
    """Has the calling thread in it from now on."""
    with open(self.path) as space:
      if LIBC.setns(space.fileno(), NEW_NETWORK) != 0:
        raise OSError(ctypes.get_errno(), "setns")

  @contextlib.contextmanager
  def inside(self):
    """For the calling thread: what is opened meanwhile is in it, and stays there."""
    with open("/proc/thread-self/ns/net") as here:
      self.enter()
      try:
        yield
      finally:
        LIBC.setns(here.fileno(), NEW_NETWORK)

  def end(self):
    if self.process is not None:
      self.process.kill()
      self.process.wait()
