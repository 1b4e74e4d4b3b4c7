"""The ten failures. Each says how to provoke it, when it can be known, and what a person should read about it."""

import os, shutil, signal, subprocess, sys, time
from lines import Garbage, Line, Receiver
from process import Trouble, need, start, until

HERE = os.path.dirname(os.path.realpath(__file__))
# A program that keeps a tty for itself, as modem and terminal programs do.
TAKER = "import fcntl, os, sys, termios, time; tty = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)\n" \
  "fcntl.ioctl(tty, termios.TIOCEXCL); print(flush=True); time.sleep(3600)"


class Failure:
  """
  title: what is wrong.
  subject: the name under which the hub reports it.
  says, step: the words with which the hub must report it, and the next step; each is a part of a sentence.
  knowable: how long after the failure the hub can know it, in seconds, and why.
  """

  subject = "gps"
  knowable = (0, "at once")

  def __init__(self, folder):
    self.folder = folder

  def prepare(self):
    """Prepares the hardware. Returns the devices of the board file."""
    return f'gps: {{ driver: "nmea", port: "{self.port}", speed: 9600 }}'

  def environment(self):
    return {}

  def precede(self, hub):
    """Waits until the failure may happen. The clients are there already if this returns true."""
    return False

  def provoke(self, hub):
    """Makes the failure happen. The failures of a start need nothing: they happen as soon as a client needs the device."""

  def end(self):
    pass


class OnLine(Failure):
  def make(self):
    return Line()

  def prepare(self):
    self.line = self.make()
    self.port = self.line.path
    return super().prepare()

  def end(self):
    self.line.close()


class MissingBus(Failure):
  title = "missing bus"
  subject = "imu"
  says = "there is no I2C bus /dev/i2c-99"
  step = "ls /dev/i2c-* lists"

  def prepare(self):
    return 'imu: { driver: "mpu-6050", bus: "/dev/i2c-99" }'


class NoPermission(OnLine):
  title = "no permission"
  says = "no permission to open serial port"
  step = "to the group dialout"

  def make(self):
    line = Line()
    os.chmod(line.path, 0o600)
    return line


class WrongSpeed(OnLine):
  title = "wrong speed"
  says = "bytes but no sentences on"
  step = "leave 'speed' out of the board file"
  knowable = (5, "a receiver sends a sentence each second, and some pause for up to 5 s")

  def make(self):
    return Receiver(speed=115200)


class SilentLine(OnLine):
  title = "silent line"
  says = "nothing received on"
  step = "check that the receiver has power, and that its TX is wired to this board's RX"
  knowable = (5, "a receiver sends a sentence each second, and some pause for up to 5 s")


class BinaryGarbage(OnLine):
  title = "binary garbage"
  says = "bytes but no sentences on"
  step = "leave 'speed' out of the board file"
  knowable = (5, "a receiver sends a sentence each second, and some pause for up to 5 s")

  def make(self):
    return Garbage()


class OneSatellite(OnLine):
  title = "one satellite"
  says = "1 satellite in view (12 dB): a position needs 4"
  step = "check the antenna's plug and cable"
  knowable = (5, "a receiver lists its satellites at least every 5 s")

  def make(self):
    return Receiver()


class TakenTTY(OnLine):
  title = "taken tty"
  says = "is in use"
  step = "stop it"

  def prepare(self):
    devices = super().prepare()
    self.taker = start([sys.executable, "-c", TAKER, self.port], stdout=subprocess.PIPE)
    self.taker.stdout.readline()
    return devices

  def end(self):
    self.taker.kill()
    self.taker.wait()
    super().end()


class ChipGone(Failure):
  """seconds: how long the chip works before it disappears."""

  title = "chip gone after a while"
  subject = "mag"
  says = "no answer from address 0x1c"
  step = "check wiring, power and address"
  seconds = 15

  def prepare(self):
    need("cc")
    self.library = f"{self.folder}/chip.so"
    done = subprocess.run(
      ["cc", "-O1", "-shared", "-fPIC", "-o", self.library, f"{HERE}/chip.c", "-ldl"], capture_output=True, text=True)
    if done.returncode != 0:
      raise Trouble(f"chip.c cannot be built: {done.stderr.strip()}")
    self.bus = f"{self.folder}/i2c-7"
    with open(self.bus, "w"):
      os.chmod(self.bus, 0o666)
    return f'mag: {{ driver: "lis3mdl", bus: "{self.bus}", rateHz: 20 }}'

  def environment(self):
    return {"LD_PRELOAD": self.library, "CHIP_BUS": self.bus}

  def precede(self, hub):
    def is_measuring():
      devices = hub.devices()
      return bool(devices) and devices[0]["power"] == "tracking"
    if not until(30, is_measuring):
      raise Trouble(f"the chip does not measure: {hub.log}")
    time.sleep(self.seconds)
    return True

  def provoke(self, hub):
    with open(f"{self.bus}.gone", "w"):
      pass


class MissingLine(Failure):
  title = "GPIO line missing"
  says = "there is no GPIO chip 'gpiochip7'"
  step = "gpioinfo lists the lines"

  def prepare(self):
    return 'gps: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "gpiochip7", line: "GPIO17" } }'


class BrokenBoard(Failure):
  title = "board file broken at reload"
  subject = "board file"
  says = "did you mean 'devices.gps.port'?"
  step = "check it with: sensorhub check"

  def prepare(self):
    return 'gps: { driver: "nmea", port: "simulated/gps" }'

  def precede(self, hub):
    time.sleep(8)
    return True

  def provoke(self, hub):
    with open(hub.board) as file:
      text = file.read()
    with open(hub.board, "w") as file:
      file.write(text.replace("port: \"simulated", "prot: \"simulated"))
    hub.process.send_signal(signal.SIGHUP)


ALL = [
  MissingBus, NoPermission, WrongSpeed, SilentLine, BinaryGarbage, OneSatellite, TakenTTY, ChipGone, MissingLine, BrokenBoard]
