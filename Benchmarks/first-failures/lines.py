"""Pseudo-terminals with a receiver, or with something else, at the other end."""

import functools, math, operator, os, random, termios, threading, time, tty

# The speeds by the numbers that the kernel has for them.
SPEEDS = {getattr(termios, f"B{speed}"): speed for speed in (4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600)}
# At most this many bytes a second are written to a line.
MOST = 4096


def sentence(text):
  return f"${text}*{functools.reduce(operator.xor, text.encode()):02X}\r\n".encode()


def heard_at(data, sender, listener):
  """The bytes that a port receives from a sender with another speed: it samples the line's levels at the wrong times."""
  if sender == listener:
    return data
  levels = []
  for byte in data:
    levels += [0, *(byte >> bit & 1 for bit in range(8)), 1]
  level = lambda at: levels[int(at * sender)] if int(at * sender) < len(levels) else 1
  heard, at, end = bytearray(), 0.0, len(levels) / sender
  while at < end and len(heard) < MOST:
    if level(at) == 1:
      at += 1 / sender / 4
      continue
    byte = sum(level(at + (1.5 + bit) / listener) << bit for bit in range(8))
    heard.append(byte)
    at += 9.5 / listener
    while at < end and level(at) == 0:
      at += 1 / sender / 4
  return bytes(heard)


class Line:
  """A tty that is silent. Subclasses send something each second."""

  def __init__(self):
    self.master, self.slave = os.openpty()
    tty.setraw(self.slave)
    os.set_blocking(self.master, False)
    self.path = os.ttyname(self.slave)
    os.chmod(self.path, 0o666)
    self.is_over = threading.Event()
    threading.Thread(target=self.run, daemon=True).start()

  @property
  def speed(self):
    """The speed at which the port's user listens."""
    return SPEEDS.get(termios.tcgetattr(self.slave)[5], 9600)

  def bytes(self):
    return b""

  def run(self):
    while not self.is_over.wait(1):
      for work in (lambda: os.read(self.master, 65536), lambda: os.write(self.master, self.bytes())):
        try:
          work()
        except OSError:
          # Nothing was sent to the line, or nothing reads it.
          pass

  def close(self):
    self.is_over.set()
    time.sleep(0.01)
    for descriptor in (self.master, self.slave):
      os.close(descriptor)


class Receiver(Line):
  """A receiver without a fix. speed: the speed at which it sends. satellites: the strengths of the satellites in view, in dB-Hz."""

  def __init__(self, speed=9600, satellites=(12,)):
    self.sends_at = speed
    self.satellites = satellites
    super().__init__()

  def bytes(self):
    now = time.strftime("%H%M%S.00", time.gmtime())
    date = time.strftime("%d%m%y", time.gmtime())
    seen = "".join(f",{7 + 3 * index:02},40,083,{strength}" for index, strength in enumerate(self.satellites))
    data = sentence(f"GPRMC,{now},V,,,,,,,{date},,,N") + sentence(f"GPGGA,{now},,,,,0,00,99.99,,,,,,") + sentence(
      f"GPGSV,1,1,{len(self.satellites):02}{seen}")
    return heard_at(data, self.sends_at, self.speed)


class Garbage(Line):
  """A device that sends bytes of its own kind, at any speed."""

  def bytes(self):
    return random.Random(int(time.time())).randbytes(200)


class Vessel(Line):
  """A receiver with a fix. knots: its speed; it sails a wide curve."""

  STRENGTHS = (48, 46, 44, 42, 41, 39, 37, 35, 31, 24, 19)

  def __init__(self, knots=0.0):
    self.knots = knots
    self.latitude, self.longitude, self.course = 54.3412, 10.1821, 38.0
    super().__init__()

  def bytes(self):
    self.course = (self.course + (1.5 if self.knots else 0)) % 360
    metres = self.knots * 1852 / 3600
    self.latitude += metres * math.cos(math.radians(self.course)) / 111_200
    self.longitude += metres * math.sin(math.radians(self.course)) / 111_200 / math.cos(math.radians(self.latitude))
    now, date = time.strftime("%H%M%S.00", time.gmtime()), time.strftime("%d%m%y", time.gmtime())
    degrees = lambda value, width: f"{int(value):0{width}}{value % 1 * 60:09.6f}"
    place = f"{degrees(self.latitude, 2)},N,{degrees(self.longitude, 3)},E"
    course = f"{self.course:.1f}" if self.knots else ""
    used = len(self.STRENGTHS) - 2
    return b"".join([
      sentence(f"GPRMC,{now},A,{place},{self.knots:.2f},{course},{date},,,A"),
      sentence(f"GPGGA,{now},{place},1,{used:02},0.9,4.2,M,45.0,M,,"),
      sentence("GPGSA,A,3," + ",".join(f"{3 + 2 * index:02}" for index in range(used)) + ",,,,1.6,0.9,1.3"),
      *self.list(used)])

  def list(self, used):
    entries = [
      f",{3 + 2 * index:02},{80 - 7 * index:02},{37 * index % 360:03},{strength:02}" for index, strength in enumerate(self.STRENGTHS)]
    messages = [entries[at:at + 4] for at in range(0, len(entries), 4)]
    return [
      sentence(f"GPGSV,{len(messages)},{number},{len(entries):02}" + "".join(message)) for number, message in enumerate(messages, 1)]
