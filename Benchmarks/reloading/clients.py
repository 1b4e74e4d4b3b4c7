"""The parts that the measurements share: a network, a broker in it, a hub, and the hub's clients."""

import contextlib, json, shutil, socket, tempfile
from board import NAME, ChangingHub
from broker import PORT, Broker
from client import Client
from report import Report
from space import Space
from stream import Stream, of_broker, of_socket

HOST = "127.0.0.1"


class Bench(contextlib.ExitStack, Report):
  def __init__(self, sensorhub, part, changed):
    super().__init__()
    self.title = f"reload: {part}"
    folder = tempfile.mkdtemp(prefix="sensorhub-reload-")
    self.callback(shutil.rmtree, folder, ignore_errors=True)
    try:
      # In a network of its own the ports are free.
      self.space = self.enter_context(contextlib.closing(Space()))
      self.broker = Broker(f"{folder}/broker", self.space, HOST)
      self.callback(self.broker.stop)
      self.broker.start()
      self.hub = ChangingHub(sensorhub, f"{folder}/hub", self.space, self.broker, changed)
      self.callback(self.hub.stop)
      self.hub.start()
      self.streams = [self.attitude(), self.watch(), self.viewer(), self.sensors()]
    except BaseException:
      self.close()
      raise

  def connect(self, address):
    with self.space.inside():
      connection = socket.socket(socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX)
      self.callback(connection.close)
      connection.connect(address)
    return connection

  def subscribe(self, request):
    connection = self.connect(f"{self.hub.folder}/hub.sock")
    connection.sendall(json.dumps(request).encode() + b"\n")
    return of_socket(connection)

  def attitude(self):
    receive = self.subscribe({"rateHz": 50, "parts": ["attitude"], "name": "attitude"})
    return Stream("attitude client", 0.02, receive, lambda line: b'"attitude":{' in line, ("imu",))

  def watch(self):
    connection = self.connect((HOST, 2947))
    connection.sendall(b'?WATCH={"enable":true,"json":true}\n')
    # The simulated receiver reports five times a second.
    return Stream("gpsd watch", 0.2, of_socket(connection), lambda line: b'"class":"TPV"' in line, ("gps",))

  def viewer(self):
    topic = f"sensorhub/{NAME}"
    client = Client(self.space, (HOST, PORT), "viewer", [f"{topic}/state/rates"])
    self.callback(client.close)
    client.retain(f"{topic}/interest/viewer/rates", '{"rateHz": 10}')
    return Stream("MQTT viewer", 0.1, of_broker(client), lambda line: b'"rates":{' in line, ("imu",))

  def sensors(self):
    receive = self.subscribe({"rateHz": 5, "parts": ["pressure", "magneticField"], "name": "sensors"})
    return Stream(
      "client of mag and baro", 0.2, receive, lambda line: b'"air":{' in line and b'"magneticField":{' in line, ("mag", "baro"))
