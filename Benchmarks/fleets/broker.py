"""Debian's mosquitto, which can be ended and started again, and knows then what it knew."""

import os, re, shutil, signal, subprocess, sys, time
from spaces import dies_with_parent

PORT = 1883
JOINED = re.compile(r"^(\d+): New client connected from \S+ as sensorhub-(\S+) \(")
KNOCKED = re.compile(r"^(\d+): New connection from ")


class Broker:
  def __init__(self, folder, host):
    os.environ["PATH"] += ":/usr/sbin"
    if not shutil.which("mosquitto") or not shutil.which("mosquitto_sub"):
      sys.exit("fleet: needs mosquitto: apt-get install mosquitto mosquitto-clients")
    self.host = host
    self.folder = folder
    self.runs = 0
    with open(folder + "/mosquitto.conf", "w") as file:
      # What waits for a viewer is to be bounded by nothing but the memory; a state that is lost is then the hub's.
      file.write(f"listener {PORT} {host}\nallow_anonymous true\nuser root\nmax_queued_messages 0\npersistence true\n"
                 f"persistence_location {folder}/\nlog_dest stderr\nlog_timestamp_format %s\n")
    self.start()

  @property
  def address(self):
    return f"mqtt://{self.host}:{PORT}"

  def start(self):
    self.runs += 1
    self.log = f"{self.folder}/mosquitto-{self.runs}.log"
    with open(self.log, "w") as log:
      self.process = subprocess.Popen(
        ["mosquitto", "-c", self.folder + "/mosquitto.conf"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        preexec_fn=dies_with_parent)
    self.tail = open(self.log, errors="replace")
    self.rest = ""
    # Who has joined since the start, and the second of the system's clock in which each connection was taken.
    self.joined = {}
    self.knocks = []
    while True:
      with open(self.log, errors="replace") as log:
        if "running" in log.read():
          break
      if self.process.poll() is not None:
        sys.exit(f"fleet: mosquitto does not start: {self.log}")
      time.sleep(0.005)

  def stop(self):
    self.process.send_signal(signal.SIGTERM)
    self.process.wait()

  def look(self):
    """Reads on in its log; returns how many hubs have joined since its start."""
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
    """How many connections it has taken in the second in which it has taken the most."""
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

  def client(self, program, *arguments, **more):
    return subprocess.Popen(
      [program, "-V", "5", "-h", self.host, "-p", str(PORT), *arguments], stdin=subprocess.DEVNULL,
      preexec_fn=dies_with_parent, **more)

  def publish(self, topic, text):
    if self.client("mosquitto_pub", "-q", "1", "-r", "-t", topic, *(["-m", text] if text else ["-n"])).wait() != 0:
      sys.exit(f"fleet: '{text}' cannot be published to {topic}")

  def retained(self, topic):
    """What it has retained there, as {topic: payload}."""
    listener = self.client("mosquitto_sub", "-q", "1", "-v", "--retained-only", "-W", "4", "-t", topic, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)
    lines = listener.communicate()[0].decode(errors="replace").splitlines()
    return dict(line.split(" ", 1) for line in lines if " " in line)
