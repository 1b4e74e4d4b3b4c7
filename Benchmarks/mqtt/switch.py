"""The broker's network with a switch in it, and cables from the switch to other networks. The cables can be cut."""

import os
from space import Space

ADDRESS = "10.77.0.1"
HARDWARE = "02:00:00:00:00:fe"


class Switch:
  def __init__(self, *names):
    """names: the names of the networks at the cables."""
    self.space = Space()
    self.spaces = {}
    self.addresses = {}
    self.space.ip(f"link add switch address {HARDWARE} type bridge forward_delay 0")
    self.space.ip(f"address add {ADDRESS}/16 dev switch")
    self.space.ip("link set switch up")
    for name in names:
      self.plug(name)

  def plug(self, name):
    space = self.spaces[name] = Space()
    number = len(self.spaces)
    address = self.addresses[name] = f"10.77.{number}.1"
    hardware = f"02:00:00:00:00:{number:02}"
    self.space.ip(f"link add {name} type veth peer name cable netns /proc/{os.getpid()}/fd/{space.descriptor}")
    self.space.ip(f"link set {name} master switch up")
    space.ip(f"link set cable address {hardware} up")
    space.ip(f"address add {address}/16 dev cable")
    # A host that is cut off is not notified: packets disappear, as they do beyond the next switch.
    space.ip(f"neighbour add {ADDRESS} lladdr {HARDWARE} dev cable nud permanent")
    self.space.ip(f"neighbour add {address} lladdr {hardware} dev switch nud permanent")

  def tap(self, name):
    """A cable to another kernel, which sets the address itself."""
    self.addresses[name] = "10.77.200.1"
    self.space.ip(f"tuntap add {name} mode tap")
    # Packets that were merged for speed would be too long for that kernel, and would be lost.
    self.space.ip(f"link set {name} gso_max_segs 1")
    self.space.ip(f"link set {name} master switch up")

  def cut(self, name):
    """Cuts the cable: no packet passes, and neither end is notified."""
    self.space.ip(f"link set {name} nomaster")

  def mend(self, name):
    self.space.ip(f"link set {name} master switch")

  def close(self):
    for space in (*self.spaces.values(), self.space):
      space.close()
