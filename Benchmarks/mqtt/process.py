"""Programs that end with the benchmark, and functions that wait for events."""

import contextlib, ctypes, os, shutil, signal, subprocess, sys, time

PRCTL = ctypes.CDLL(None).prctl
SET_DEATH_SIGNAL = 1
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Trouble(Exception):
  """A problem that keeps a benchmark from measuring: a missing program, or an event that did not happen."""


def need(*programs):
  missing = [program for program in programs if not shutil.which(program)]
  if missing:
    raise Trouble(f"needs {', '.join(missing)}: apt-get install mosquitto mosquitto-clients iproute2")


def own_networks():
  """Makes sure that the benchmark may create networks: unless it is root, it runs itself again as root of a user namespace."""
  if os.geteuid() != 0:
    os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--net", sys.executable, *sys.argv])


def end_in_order():
  """Ends the benchmark normally on each signal that can be caught, so that its folder below /tmp is removed too."""
  def end(number, _):
    for other in ENDING:
      signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + number)

  for number in ENDING:
    signal.signal(number, end)


def start(command, log=subprocess.DEVNULL, space=None, **more):
  """log: the file to which the program's output is appended. space: the network in which the program runs; default: the present one."""
  with contextlib.ExitStack() as stack:
    if log != subprocess.DEVNULL:
      log = stack.enter_context(open(log, "a"))
    if space is not None:
      stack.enter_context(space.inside())
    try:
      return subprocess.Popen(
        [str(word) for word in command], **{"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **more},
        # The processes end with the benchmark, even if that is killed.
        preexec_fn=lambda: PRCTL(SET_DEATH_SIGNAL, signal.SIGKILL))
    except OSError as error:
      raise Trouble(f"{command[0]} cannot be started: {error.strerror}")


def until(seconds, is_so):
  """Waits until a condition is true; returns whether it is."""
  end = time.monotonic() + seconds
  while not is_so():
    if time.monotonic() > end:
      return False
    time.sleep(0.01)
  return True
