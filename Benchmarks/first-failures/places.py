"""The places where people look, each with the times at which it reported something."""

import json, os, re, subprocess, threading, time
from process import Trouble, start

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--pdeathsig=KILL"]


def plain(text):
  return re.sub(r"\s+", " ", text).strip()


class Place:
  """What a place has said so far, as (time, text)."""

  def __init__(self, name):
    self.name = name
    self.said = []
    # The time from which on the place could report something.
    self.ready_at = 0
    self.condition = threading.Condition()

  def say(self, text):
    with self.condition:
      if not self.said or self.said[-1][1] != text:
        self.said.append((time.monotonic(), text))

  def find(self, since, says, step):
    """The first text since a time that has these words. Returns its time, the text and whether it has the next step."""
    with self.condition:
      texts = [(at, text) for at, text in self.said if at >= since and says in text]
    for at, text in texts:
      if step in text:
        return at, text, True
    return (*texts[0], False) if texts else None

  def last(self):
    with self.condition:
      return self.said[-1][1] if self.said else ""

  def close(self):
    pass


class Output(Place):
  """The lines of a program."""

  def __init__(self, name, command, space=None, process=None):
    super().__init__(name)
    self.is_own = process is None
    self.process = process or start(command, space=space, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    stream = self.process.stdout if self.is_own else self.process.stderr
    threading.Thread(target=self.read, args=(stream,), daemon=True).start()

  def read(self, stream):
    for line in stream:
      self.say(line.decode(errors="replace").rstrip("\n"))

  def close(self):
    if self.is_own:
      self.process.terminate()
      self.process.wait()


class Messages(Output):
  """The devices' status at a broker. An entry is the text of the conditions."""

  def say(self, line):
    _, _, payload = line.partition(" ")
    try:
      report = json.loads(payload)
    except ValueError:
      return
    troubles = [("board file", condition) for condition in report.get("conditions", [])]
    troubles += [(device["id"], condition) for device in report["devices"] for condition in device.get("conditions", [])]
    super().say("; ".join(f"{name} {one['kind']}: {one['summary']}; {one.get('nextStep', '')}" for name, one in troubles))


class Listing(Place):
  """`sensorhub devices`, called again and again."""

  def __init__(self, command):
    super().__init__("devices")
    self.command = command
    self.is_over = threading.Event()
    self.thread = threading.Thread(target=self.run, daemon=True)
    self.thread.start()

  def run(self):
    while not self.is_over.wait(0.3):
      done = subprocess.run(self.command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
      # The first lines have the conditions; the table follows.
      self.say(plain(done.stdout))

  def close(self):
    self.is_over.set()
    self.thread.join()


class Page(Place):
  """The banner of the page; while it has none, the words in its header."""

  def __init__(self, browser, address):
    super().__init__("page")
    self.browser = browser
    self.is_over = threading.Event()
    self.problem = None
    self.thread = threading.Thread(target=self.run, args=(address,), daemon=True)
    self.thread.start()

  def run(self, address):
    try:
      self.browser.open(address)
      # Before that, the browser loads the page.
      self.ready_at = time.monotonic()
      while not self.is_over.wait(0.1):
        banner, header, title = self.browser.evaluate("""
          const text = (id) => document.getElementById(id)?.innerText.trim() ?? "";
          const banner = document.getElementById("banner");
          return [banner && !banner.hidden ? text("banner-list") : "", text("mode") + ": " + text("note"), document.title];
          """)
        self.say(plain(f"banner: {banner} [title: {title}]" if banner else f"header: {header} [title: {title}]"))
    except Trouble as trouble:
      self.problem = trouble

  def close(self):
    self.is_over.set()
    self.thread.join()
    if self.problem:
      raise self.problem
