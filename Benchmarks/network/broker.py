"""Debian's mosquitto in a place of its own. What it knows outlives a restart."""

import glob, os, signal, subprocess
from process import start, until


class Broker:
  PORT = 1883

  def __init__(self, program, folder, places):
    """program: an executable, or a folder into which Debian's packages were unpacked."""
    self.folder = folder
    self.places = places
    self.command = [program]
    if os.path.isdir(program):
      loaders = glob.glob(f"{program}/usr/lib/*-linux-gnu/ld-linux-*.so.*")
      if not loaders:
        raise FileNotFoundError(f"there is no loader in {program}")
      self.command = [loaders[0], "--library-path", os.path.dirname(loaders[0]), f"{program}/usr/sbin/mosquitto"]
    os.makedirs(folder)
    with open(f"{folder}/mosquitto.conf", "w") as file:
      file.write(
        f"listener {self.PORT} 0.0.0.0\nallow_anonymous true\nuser root\npersistence true\n"
        f"persistence_location {folder}/\nmax_queued_messages 0\n")
    self.process = None

  @property
  def version(self):
    return subprocess.run([*self.command, "-h"], capture_output=True, text=True).stdout.split("\n")[0]

  @property
  def address(self):
    return (self.places.ADDRESSES["broker"], self.PORT)

  def start(self):
    self.process = start(
      self.places.command("broker", *self.command, "-c", f"{self.folder}/mosquitto.conf"), f"{self.folder}/log")
    until(20, lambda: self.is_there() or self.process.poll() is not None)
    if not self.is_there():
      with open(f"{self.folder}/log") as file:
        raise TimeoutError(f"the broker does not come: {file.read().strip()}")

  def is_there(self):
    if self.process.poll() is not None:
      return False
    try:
      self.places.connect("broker", self.address).close()
      return True
    except OSError:
      return False

  def stop(self):
    if self.process:
      self.process.send_signal(signal.SIGTERM)
      self.process.wait()
