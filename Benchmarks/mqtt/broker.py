"""Debian's mosquitto, which can be stopped and started again. It keeps its retained messages and sessions."""

import glob, os, re, shutil, signal, subprocess
from process import Trouble, need, start, until

PORT = 1883
JOINED = re.compile(r"^(\d+): New client connected from \S+ as sensorhub-(\S+) \(")
KNOCKED = re.compile(r"^(\d+): New connection from ")


class Broker:
  def __init__(self, folder, space, host, program=None):
    """program: another executable than this machine's, or a folder with Debian's unpacked packages."""
    self.folder = folder
    self.space = space
    self.host = host
    self.runs = 0
    self.process = None
    need("mosquitto_sub", "mosquitto_pub", *([] if program else ["mosquitto"]))
    program = program or shutil.which("mosquitto")
    self.command = [program]
    if os.path.isdir(program):
      loaders = glob.glob(f"{program}/usr/lib/*-linux-gnu/ld-linux-*.so.*")
      if not loaders:
        raise Trouble(f"there is no loader in {program}")
      self.command = [loaders[0], "--library-path", os.path.dirname(loaders[0]), f"{program}/usr/sbin/mosquitto"]
    os.makedirs(folder)
    with open(f"{folder}/mosquitto.conf", "w") as file:
      # Only memory limits the queue of a viewer, so a lost state is the hub's fault.
      file.write(
        f"listener {PORT} {host}\nallow_anonymous true\nuser root\nmax_queued_messages 0\npersistence true\n"
        f"persistence_location {folder}/\nlog_dest stderr\nlog_timestamp_format %s\n")

  @property
  def version(self):
    return subprocess.run([*self.command, "-h"], capture_output=True, text=True).stdout.split("\n")[0]

  @property
  def url(self):
    return f"mqtt://{self.host}:{PORT}"

  def start(self):
    self.runs += 1
    log = f"{self.folder}/log-{self.runs}"
    self.process = start([*self.command, "-c", f"{self.folder}/mosquitto.conf"], log, self.space)
    self.tail = open(log, errors="replace")
    self.rest = ""
    # The clients that have joined since the start, and the second of the system clock at which each connection was
    # accepted.
    self.joined = {}
    self.knocks = []

    def said():
      with open(log, errors="replace") as file:
        return file.read()
    until(20, lambda: "running" in said() or self.process.poll() is not None)
    if "running" not in said() or self.process.poll() is not None:
      raise Trouble(f"the broker does not come: {said().strip()}")

  def stop(self, number=signal.SIGTERM):
    if self.process:
      self.process.send_signal(number)
      self.process.wait()

  def look(self):
    """Reads the new lines of the broker's log; returns how many hubs have joined since its start."""
    lines = (self.rest + self.tail.read()).split("\n")
    self.rest = lines.pop()
    for line in lines:
      if match := JOINED.match(line):
        self.joined.setdefault(match[2], int(match[1]))
      elif match := KNOCKED.match(line):
        self.knocks.append(int(match[1]))
    return sum(1 for name in self.joined if name.startswith("hub-"))

  @property
  def worst_second(self):
    """The largest number of connections that the broker accepted within one second."""
    return max((self.knocks.count(second) for second in set(self.knocks)), default=0)

  @property
  def processor_seconds(self):
    with open(f"/proc/{self.process.pid}/stat") as stat:
      fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

  @property
  def resident_bytes(self):
    with open(f"/proc/{self.process.pid}/smaps_rollup") as rollup:
      return next(int(line.split()[1]) for line in rollup if line.startswith("Rss:")) * 1024

  def client(self, program, *arguments, space=None, **more):
    """Starts one of mosquitto's own clients, in the broker's network by default."""
    return start([program, "-V", "5", "-h", self.host, "-p", PORT, "-q", "1", *arguments], space=space or self.space, **more)

  def retain(self, topic, text, **more):
    """Publishes a retained message, and waits until the broker has it. An empty text removes the retained message."""
    if self.client("mosquitto_pub", "-r", "-t", topic, *(["-m", text] if text else ["-n"]), **more).wait() != 0:
      raise Trouble(f"'{text}' cannot be published to {topic}")

  def retained(self, topic):
    """The retained messages of a topic, as {topic: payload}."""
    listener = self.client("mosquitto_sub", "-v", "--retained-only", "-W", "4", "-t", topic, stdout=subprocess.PIPE)
    lines = listener.communicate()[0].decode(errors="replace").splitlines()
    return dict(line.split(" ", 1) for line in lines if " " in line)
