"""A hub that runs as an ordinary user, as the service does."""

import json, os, shutil, signal, socket, subprocess
from places import NOBODY
from process import Trouble, start, until

HTTP_PORT = 8080


class Boat:
  """devices, more: the devices and further sections of the board file."""

  def __init__(self, program, folder, space, devices, more="", environment={}, name="boat"):
    self.program, self.folder, self.space, self.name = program, folder, space, name
    self.environment = environment
    self.board = f"{folder}/board.json5"
    self.socket = f"{folder}/hub.sock"
    os.makedirs(f"{folder}/state", exist_ok=True)
    with open(self.board, "w") as file:
      file.write(f'{{ name: "{name}", devices: {{ {devices} }}, http: {{ port: {HTTP_PORT} }}, {more} }}')
    for path in (folder, f"{folder}/state", self.board):
      shutil.chown(path, 65534, 65534)
    self.lines = []

  @property
  def address(self):
    return f"http://localhost:{HTTP_PORT}/"

  def command(self, *words):
    return [*NOBODY, self.program, *words, "--socket", self.socket]

  def start(self):
    with open(f"{self.folder}/log", "ab") as log:
      self.process = start(
        self.command("run", "--board", self.board), space=self.space, stdout=subprocess.DEVNULL, stderr=log.fileno(), env=self.variables)
    if not until(30, lambda: "dashboard on" in self.log or self.process.poll() is not None) or self.process.poll() is not None:
      raise Trouble(f"the hub does not come: {self.log}")

  @property
  def variables(self):
    return {**os.environ, "STATE_DIRECTORY": f"{self.folder}/state", "HOME": self.folder, **self.environment}

  @property
  def log(self):
    with open(f"{self.folder}/log", errors="replace") as file:
      return file.read()

  def devices(self):
    with socket.socket(socket.AF_UNIX) as connection:
      connection.settimeout(30)
      connection.connect(f"{self.folder}/devices.sock")
      with connection.makefile("rb") as file:
        return json.load(file)["devices"]

  def stop(self):
    self.process.send_signal(signal.SIGTERM)
    self.process.wait()
