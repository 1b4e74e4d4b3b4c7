"""The common parts of the recorder's benchmarks: a folder that is removed at the end, hubs that end with the benchmark, and the output."""

import contextlib, os, shutil, signal, subprocess, sys, tempfile, time
from hub import Hub


ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Lacking(Exception):
  """A program or a right that a measurement needs is missing. The message says how to get it."""


class Bench(contextlib.ExitStack):
  def __init__(self, sensorhub, part):
    super().__init__()
    self.sensorhub = sensorhub
    self.part = part
    self.has_failed = False
    self.folder = tempfile.mkdtemp(prefix="sensorhub-recorder-")
    self.callback(shutil.rmtree, self.folder, ignore_errors=True)

  @staticmethod
  def isolate():
    """Makes the benchmark end normally on each signal that can be caught. As root it gets mounts of its own, which only it and its
    children see, and which end with it.
    """
    def end(number, _):
      # The clean-up must not be interrupted.
      for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
      sys.exit(128 + number)

    for number in ENDING:
      signal.signal(number, end)
    os.environ["PATH"] += ":/usr/sbin"
    if os.geteuid() == 0 and "SENSORHUB_RECORDER_MOUNTS" not in os.environ:
      os.environ["SENSORHUB_RECORDER_MOUNTS"] = "own"
      os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])

  def say(self, text):
    print(f"recorder: {self.part}: {text}", flush=True)

  def expect(self, is_so, text):
    """Prints a figure, and whether it is as promised."""
    self.has_failed = self.has_failed or not is_so
    self.say(text if is_so else f"{text} - NOT AS PROMISED")

  def path(self, name):
    return os.path.join(self.folder, name)

  def hub(self, name, record, **more):
    """A hub with a folder of its own, which ends with the benchmark."""
    return self.enter_context(Hub(self.sensorhub, self.path(name), record, **more))

  def run(self, *arguments, **more):
    """Runs another subcommand of the program; returns its output."""
    done = subprocess.run([self.sensorhub, *arguments], capture_output=True, text=True, **more)
    if done.returncode != 0:
      sys.exit(f"recorder: {self.part}: sensorhub {' '.join(arguments)} failed: {done.stderr}")
    return done.stdout

  def need_root(self):
    if os.geteuid() != 0:
      raise Lacking("needs root, to mount a file system of its own")

  def need(self, program, package):
    if not shutil.which(program):
      raise Lacking(f"needs {program}: apt-get install {package}")


def until(seconds, is_so):
  """Waits until a condition is true; returns whether it is."""
  end = time.monotonic() + seconds
  while not is_so():
    if time.monotonic() > end:
      return False
    time.sleep(0.02)
  return True

