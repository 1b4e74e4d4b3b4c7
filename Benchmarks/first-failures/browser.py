"""Debian's Chromium without a window, driven by WebDriver."""

import base64, http.client, json, os, socket, subprocess
from process import Trouble, need, start, until


class Browser:
  """folder: an empty folder for the profile. is_traced: whether Chromium traces the tasks of its threads."""

  def __init__(self, folder, is_traced=False):
    need("chromium", "chromedriver")
    with socket.socket() as free:
      free.bind(("127.0.0.1", 0))
      self.port = free.getsockname()[1]
    os.makedirs(folder, exist_ok=True)
    self.driver = start(
      ["chromedriver", f"--port={self.port}"], f"{folder}/log", env={**os.environ, "TMPDIR": folder}, stdin=subprocess.DEVNULL)
    self.session = None
    if not until(30, self.listens):
      raise Trouble("chromedriver does not come")
    arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server", "--hide-scrollbars", "--lang=en"]
    options = {"binary": "/usr/bin/chromium", "args": arguments}
    match = {"goog:chromeOptions": options, "timeouts": {"script": 60000, "pageLoad": 60000}}
    if is_traced:
      options["perfLoggingPrefs"] = {"traceCategories": "toplevel", "enableNetwork": False, "enablePage": False}
      match["goog:loggingPrefs"] = {"performance": "ALL"}
    wanted = {"capabilities": {"alwaysMatch": match}}
    for _ in range(2):
      # On a busy machine the driver may give up before the browser is ready.
      try:
        self.session = "/session/" + self.call("POST", "/session", wanted)["sessionId"]
        return
      except Trouble as trouble:
        problem = trouble
    raise problem

  def listens(self):
    with socket.socket() as connection:
      return connection.connect_ex(("127.0.0.1", self.port)) == 0

  def call(self, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
    try:
      connection.request(method, path, json.dumps(body or {}) if method == "POST" else None)
      value = json.load(connection.getresponse())["value"]
    except (OSError, http.client.HTTPException, ValueError) as error:
      raise Trouble(f"chromedriver does not answer: {error}")
    finally:
      connection.close()
    if isinstance(value, dict) and "error" in value:
      raise Trouble(f"{path}: {value['error']}: {value['message'].splitlines()[0]}")
    return value

  def open(self, address):
    self.call("POST", f"{self.session}/url", {"url": address})

  def evaluate(self, script):
    """Returns what the body of a JavaScript function returns."""
    return self.call("POST", f"{self.session}/execute/sync", {"script": script, "args": []})

  def tool(self, method, **parameters):
    """A command of the Chrome DevTools Protocol."""
    return self.call("POST", f"{self.session}/goog/cdp/execute", {"cmd": method, "params": parameters})

  def main_thread_tasks(self, since):
    """The durations in seconds of all tasks that the main threads of pages have begun since then, by the monotonic clock.

    Chromium ends its trace with this.
    """
    entries, is_whole = [], False
    while not is_whole:
      # The driver gives at most 100,000 at once.
      batch = self.call("POST", f"{self.session}/se/log", {"type": "performance"})
      entries += batch
      is_whole = not batch
    messages = [json.loads(entry["message"])["message"] for entry in entries]
    events = [message["params"] for message in messages if message["method"] == "Tracing.dataCollected"]
    mains = {(event["pid"], event["tid"]) for event in events
      if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"}
    return [event["dur"] / 1e6 for event in events
      if event["name"] == "ThreadControllerImpl::RunTask" and event["ph"] == "X" and event["ts"] >= 1e6 * since
      and (event["pid"], event["tid"]) in mains]

  def resize(self, width, height, is_phone=False):
    """Gives the page a screen of this size."""
    self.tool(
      "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if is_phone else 1, mobile=is_phone)
    self.tool("Emulation.setTouchEmulationEnabled", enabled=is_phone)

  def prefer(self, scheme):
    """scheme: light or dark"""
    self.tool("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

  def picture(self, path):
    with open(path, "wb") as file:
      file.write(base64.b64decode(self.call("GET", f"{self.session}/screenshot")))

  def close(self):
    if self.session:
      try:
        self.call("DELETE", self.session)
      except Trouble:
        pass
    self.driver.terminate()
    self.driver.wait()
