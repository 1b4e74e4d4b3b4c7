"""The states of the page that are worth a picture: each is a hub, and what the page must show before the picture is taken."""

import os, shutil, signal
from boat import HTTP_PORT, Boat
from lines import Line, Receiver, Vessel, sentence
from places import NOBODY
from process import Trouble, start, until

POWER = 'power: {{ switch: "gpio", chip: "simulated", line: "{line}-power", currentMilliamperes: 30, supplyVolts: 3.3 }}'
DEVICES = ", ".join(
  text + POWER.format(line=line) + " }" for line, text in (
    ("gps", 'gps: { driver: "nmea", port: "simulated/gps", '), ("imu", 'imu: { driver: "mpu-6050", bus: "simulated/i2c", '),
    ("mag", 'mag: { driver: "lis3mdl", bus: "simulated/i2c", '), ("baro", 'baro: { driver: "bme280", bus: "simulated/i2c", ')))
DEVICES += ', meter: { driver: "ina226", bus: "simulated/i2c" }'
SPEED = "Number(document.getElementById('speed').textContent)"
BANNER = "document.getElementById('banner-list').innerText"
MODE = "document.getElementById('mode').textContent"


class View:
  """
  shows: a JavaScript expression that is true once the page shows the state. patience: how long that may take, in seconds.
  theme: the user's choice of colours; None if the device chooses.
  """

  shows = "true"
  patience = 60
  theme = None
  more = 'motion: "vehicle"'
  name = "boat"

  def __init__(self, program, folder, space):
    self.program, self.folder, self.space = program, folder, space

  def devices(self):
    return DEVICES

  def start(self):
    self.hub = Boat(self.program, self.folder, self.space, self.devices(), self.more, name=self.name)
    self.hub.start()

  def stop(self):
    self.hub.stop()


class OnLine(View):
  name = "Albatros"
  more = "fences: { harbour: { circle: [54.3412, 10.1821, 200] } }"

  def devices(self):
    self.line = self.make()
    return f'gps: {{ driver: "nmea", port: "{self.line.path}", speed: 9600 }}'

  def stop(self):
    super().stop()
    self.line.close()


class Rest(OnLine):
  title = "at rest"
  shows = f"document.getElementById('fix').textContent === '3D' && {SPEED} === 0"

  def make(self):
    return Vessel()


class Moving(OnLine):
  title = "moving"
  # The track has a shape by then.
  shows = f"{SPEED} > 2 && performance.now() > 30000"
  more = ""

  def make(self):
    return Vessel(knots=6.2)


class Tunnel(View):
  title = "tunnel"
  shows = f"{MODE} === 'dead reckoning'"
  patience = 150


class Failed(OnLine):
  """Two devices do not work."""
  title = "failed"
  shows = f"{BANNER}.includes('gps') && {BANNER}.includes('imu')"

  def make(self):
    return Line()

  def devices(self):
    return super().devices() + ', imu: { driver: "mpu-6050", bus: "/dev/i2c-99" }'


class FenceLeft(View):
  title = "fence left"
  shows = f"{BANNER}.includes('start')"
  more = 'motion: "vehicle", fences: { start: { circle: [52.5163, 13.3777, 50], grace: 2, speed: 20 } }'
  patience = 150


class Simulated(View):
  title = "simulated"
  shows = f"{SPEED} > 3 && document.getElementById('pressure').textContent !== '–' && performance.now() > 20000"


class Night(View):
  title = "night"
  theme = "night"
  shows = f"{SPEED} > 3 && performance.now() > 20000"


class Replay(View):
  title = "replay"
  shows = f"{SPEED} > 3 && document.getElementById('replay-end').textContent.includes('UTC') && performance.now() > 10000"

  def start(self):
    os.makedirs(f"{self.folder}/state")
    with open(f"{self.folder}/log.nmea", "wb") as file:
      for second in range(600):
        now = f"10{second // 60:02}{second % 60:02}.00"
        place = f"54{20.472 + second * 0.0017:09.6f},N,010{10.926 + second * 0.001:09.6f},E"
        file.write(sentence(f"GPRMC,{now},A,{place},6.20,19.0,281126,,,A"))
        file.write(sentence(f"GPGGA,{now},{place},1,09,0.9,4.2,M,45.0,M,,"))
    with open(f"{self.folder}/board.json5", "w") as file:
      file.write(f'{{ name: "Albatros", devices: {{ gps: {{ driver: "nmea", port: "log" }} }}, http: {{ port: {HTTP_PORT} }} }}')
    for path in (self.folder, f"{self.folder}/state"):
      shutil.chown(path, 65534, 65534)
    log = f"{self.folder}/log"
    self.process = start(
      [*NOBODY, self.program, "replay", f"{self.folder}/log.nmea", "--board", f"{self.folder}/board.json5", "--socket",
       f"{self.folder}/hub.sock", "--stay"], log, self.space,
      env={**os.environ, "STATE_DIRECTORY": f"{self.folder}/state", "HOME": self.folder})

    def said():
      with open(log, errors="replace") as file:
        return file.read()
    if not until(30, lambda: "dashboard on" in said() or self.process.poll() is not None) or self.process.poll() is not None:
      raise Trouble(f"the replay does not come: {said()}")

  def stop(self):
    self.process.send_signal(signal.SIGTERM)
    self.process.wait()


class Searching(OnLine):
  """A receiver that has found one satellite."""
  title = "searching"
  shows = f"{BANNER}.includes('1 satellite in view')"

  def make(self):
    return Receiver(satellites=(12,))


ALL = [Rest, Moving, Tunnel, Failed, FenceLeft, Simulated, Replay, Night, Searching]
