"""Three machines and the switch between them: network namespaces of their own, of which nothing else on this machine takes notice."""

import ctypes, os, socket, subprocess

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


class Places:
  """`hub`, `broker` and `viewer`. Where the hub is on a kernel of its own, a tap takes the place of its namespace."""

  ADDRESSES = {"hub": "10.77.0.1", "broker": "10.77.0.2", "viewer": "10.77.0.3"}

  def __init__(self, has_tap=False):
    self.start = f"faults-{os.getpid()}"
    self.has_tap = has_tap

  def __enter__(self):
    try:
      self.make()
    except BaseException:
      self.__exit__()
      raise
    return self

  def __exit__(self, *_):
    for name in ("switch", *self.ADDRESSES):
      subprocess.run(["ip", "netns", "delete", f"{self.start}-{name}"], stderr=subprocess.DEVNULL)

  def make(self):
    self.add("switch")
    self.ip("switch", "link add switch type bridge forward_delay 0")
    self.ip("switch", "link set switch up")
    for name, address in self.ADDRESSES.items():
      if name == "hub" and self.has_tap:
        self.ip("switch", "tuntap add hub mode tap")
        # Packets joined for speed would be too long for that kernel, and lost.
        self.ip("switch", "link set hub gso_max_segs 1")
      else:
        self.add(name)
        self.ip("switch", f"link add {name} type veth peer name wire netns {self.start}-{name}")
        self.ip(name, f"address add {address}/24 dev wire")
        self.ip(name, "link set wire up")
      self.ip("switch", f"link set {name} master switch up")

  def add(self, name):
    subprocess.run(["ip", "netns", "add", f"{self.start}-{name}"], check=True)
    self.ip(name, "link set lo up")

  def ip(self, place, words):
    subprocess.run(["ip", "-n", f"{self.start}-{place}", *words.split()], check=True)

  def command(self, place, *words):
    """How a program is started there."""
    return ["ip", "netns", "exec", f"{self.start}-{place}", *map(str, words)]

  def cut(self, place):
    """Nothing comes through any more, and no end of the wire is told."""
    self.ip("switch", f"link set {place} nomaster")

  def mend(self, place):
    self.ip("switch", f"link set {place} master switch")

  def connect(self, place, address):
    """A connection from there. The thread is elsewhere for as long as it takes to make it."""
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{self.start}-{place}", os.O_RDONLY)
    try:
      if LIBC.setns(there, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
      return socket.create_connection(address, 10)
    finally:
      LIBC.setns(here, CLONE_NEWNET)
      os.close(here)
      os.close(there)
