"""Programs that end with the benchmark, and waiting for what they do."""

import ctypes, signal, subprocess, time

PRCTL = ctypes.CDLL(None).prctl
SET_DEATH_SIGNAL = 1


def start(command, log, **more):
  """log: the file that has what it says, after what is there already."""
  with open(log, "a") as file:
    return subprocess.Popen(
      command, stdin=subprocess.DEVNULL, **{"stdout": file, "stderr": file, **more},
      # Whoever kills the benchmark kills them.
      preexec_fn=lambda: PRCTL(SET_DEATH_SIGNAL, signal.SIGKILL))


def until(seconds, is_so):
  """Waits until something is so; returns whether it is."""
  end = time.monotonic() + seconds
  while not is_so():
    if time.monotonic() > end:
      return False
    time.sleep(0.01)
  return True
