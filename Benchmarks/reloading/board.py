"""A hub on a simulated board. A reload changes the rate of one of its devices."""

import http.client, json, os, signal, socket, subprocess, sys
from hub import Hub
from process import Trouble, start, until

NAME = "boat"
HERE = os.path.dirname(os.path.realpath(__file__))
HTTP_PORT = 8080
# The rates between which a reload changes a device.
RATES = {"mag": (20, 40), "baro": (5, 10), "spare": (1, 2)}
# The simulated receiver `gps` is in a tunnel for 30 s every two minutes; `gps2` is never in one.
DEVICES = """
    gps: {{ driver: "nmea", port: "simulated/gps2", {gps} }},
    imu: {{ driver: "mpu-6050", bus: "simulated/i2c", rateHz: 200, burstRateHz: 100, {imu} }},
    mag: {{ driver: "lis3mdl", bus: "simulated/i2c", rateHz: {mag_rate}, {mag} }},
    baro: {{ driver: "bme280", bus: "simulated/i2c", rateHz: {baro_rate}, {baro} }},"""
# A receiver that answers no command. If the hub has just begun to configure it, its end takes a second or two.
SPARE = """
    spare: {{ driver: "ublox", port: "{tty}", rateHz: {spare_rate}, messages: "nmea", restores: true }},"""
POWER = {
  name: f'power: {{ switch: "gpio", chip: "simulated", line: "{line}-power", settleMilliseconds: 10 }}'
  for name, line in (("gps", "gps2"), ("imu", "imu"), ("mag", "mag"), ("baro", "baro"))}


class ChangingHub(Hub):
  """changed: the devices that reloads change. All others are kept."""

  def __init__(self, program, folder, space, broker, changed):
    self.changed = changed
    self.kept = [name for name in POWER if name not in changed]
    self.tty = f"{folder}/tty"
    self.rates = {name: rates[0] for name, rates in RATES.items()}
    self.reload_count = 0
    self.receiver = None
    super().__init__(
      program, folder, NAME, broker.url, space, devices=self.devices,
      # The watch keeps only the receiver awake.
      more=f"""gpsd: {{ parts: ["position", "motion", "time", "satellites"] }}, http: {{ port: {HTTP_PORT} }}, state: {{ rateHz: 50 }},
        fusion: {{ devices: {json.dumps(list(POWER))} }}""")

  @property
  def devices(self):
    text = DEVICES + (SPARE if "spare" in self.changed else "")
    return text.format(tty=self.tty, **POWER, **{f"{name}_rate": rate for name, rate in self.rates.items()})

  def start(self):
    if "spare" in self.changed:
      self.receiver = start([sys.executable, f"{HERE}/../mqtt/receiver.py", self.tty, 5], stdout=subprocess.DEVNULL)
      if not until(60, lambda: os.path.exists(self.tty)):
        raise Trouble("the spare receiver does not come")
    super().start()
    until(60, lambda: "joined mqtt://" in self.log or self.process.poll() is not None)
    if "joined mqtt://" not in self.log or self.process.poll() is not None:
      raise Trouble(f"the hub does not join its broker: {self.log}")
    if self.receiver:
      self.hold("spare")

  def hold(self, name):
    """Keeps a device awake that no client needs."""
    with self.space.inside():
      connection = http.client.HTTPConnection("127.0.0.1", HTTP_PORT, timeout=30)
      connection.request("POST", f"/devices/{name}/hold?for=3600")
      answer = connection.getresponse()
      text = answer.read().decode()
      connection.close()
    if answer.status // 100 != 2:
      raise Trouble(f"'{name}' cannot be held: {text}")

  def change(self, name):
    """Gives a device its other rate in the board file, and requests a reload."""
    before = self.devices
    slow, fast = RATES[name]
    self.rates[name] = fast if self.rates[name] == slow else slow
    with open(self.board) as file:
      text = file.read()
    with open(self.board, "w") as file:
      file.write(text.replace(before, self.devices))
    self.reload_count += 1
    self.process.send_signal(signal.SIGHUP)

  @property
  def is_reloaded(self):
    return self.log.count(f"board '{NAME}' reloaded") >= self.reload_count

  def status(self):
    """The devices by name, from the socket that `sensorhub devices --json` reads."""
    with socket.socket(socket.AF_UNIX) as connection:
      connection.settimeout(30)
      connection.connect(f"{self.folder}/devices.sock")
      with connection.makefile("rb") as file:
        return {device["id"]: device for device in json.load(file)["devices"]}

  @property
  def lines_of_kept_devices(self):
    """The lines of the log about the kept devices."""
    return [line for line in self.log.splitlines() if any(f" {name}: " in line for name in self.kept)]

  def stop(self, number=signal.SIGTERM):
    super().stop(number)
    if self.receiver:
      self.receiver.terminate()
      self.receiver.wait()
