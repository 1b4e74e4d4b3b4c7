"""Strict stand-ins for the servers that hooks post to. They check a request as the real ones do, by their published sources:

ntfy 2 (binwiederhier/ntfy): transformBodyJSON and topicRegex in server/server.go, publishMessage in server/types.go, ParsePriority
Gotify 2 (gotify/server v2.6.3): model/message.go, MessageExternal; Gotify 3: CreateMessage; auth/authentication.go

Both decode JSON with Go's rules: unknown members are ignored, names match in any case, and a member of a wrong type refuses the whole
message.
"""

import http.server, json, re, threading

TOKEN = "AbCdEf.123-x_y"
# The types of members in Go.
UINT = lambda value: type(value) is int and value >= 0
INT = lambda value: type(value) is int
STRING = lambda value: type(value) is str
BOOL = lambda value: type(value) is bool
STRINGS = lambda value: type(value) is list and all(type(one) is str for one in value)
OBJECT = lambda value: type(value) is dict
LIST = lambda value: type(value) is list
DATE = lambda value: type(value) is str and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", value) is not None


class Refusal(Exception):
  def __init__(self, status, text):
    super().__init__(f"{status} {text}")
    self.status = status


def decoded(body, members):
  """The known members of a JSON object."""
  try:
    value = json.loads(body.decode())
  except ValueError:
    raise Refusal(400, "the body is no JSON")
  if type(value) is not dict:
    raise Refusal(400, "the body is no JSON object")
  known = {}
  for name, member in value.items():
    kind = members.get(name.lower())
    if kind is None or member is None:
      continue
    if not kind(member):
      raise Refusal(400, f"cannot unmarshal '{name}': {json.dumps(member)}")
    known[name.lower()] = member
  return known


class Ntfy:
  name = "ntfy 2"
  path = "/"
  topic = "my-boat-7f3a"
  most = 4096
  members = {
    "topic": STRING, "title": STRING, "message": STRING, "priority": INT, "tags": STRINGS, "click": STRING, "icon": STRING,
    "actions": LIST, "attach": STRING, "markdown": BOOL, "filename": STRING, "email": STRING, "call": STRING, "cache": STRING,
    "firebase": STRING, "delay": STRING}

  def take(self, method, path, headers, body):
    if method not in ("POST", "PUT") or path != "/":
      raise Refusal(404, f"{method} {path}")
    if len(body) >= 2 * self.most:
      raise Refusal(413, "the body is too large")
    message = decoded(body, self.members)
    if not re.fullmatch(r"[-_A-Za-z0-9]{1,64}", message.get("topic", "")):
      raise Refusal(400, f"topic '{message.get('topic')}' is invalid")
    if message.get("priority", 0) not in range(6):
      raise Refusal(400, "priority is invalid")
    if len(message.get("message", "").encode()) > self.most:
      raise Refusal(400, "the message would become an attachment")
    if any("," in tag for tag in message.get("tags", [])):
      raise Refusal(400, "a comma would split a tag")
    if any(character in message.get("title", "") for character in "\r\n"):
      raise Refusal(400, "the title has several lines")
    if message["topic"] != self.topic or headers.get("Authorization"):
      raise Refusal(403, "forbidden")
    return message


class Gotify:
  """members: the types of the members of the version's model."""
  path = "/message"
  topic = None

  def __init__(self, name, members):
    self.name = name
    self.members = members

  def take(self, method, path, headers, body):
    if method != "POST" or path != "/message":
      raise Refusal(404, f"{method} {path}")
    if headers.get("Authorization") != f"Bearer {TOKEN}":
      raise Refusal(401, "you need to provide a valid access token")
    if headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
      raise Refusal(400, "a form without a message")
    message = decoded(body, self.members)
    if not message.get("message"):
      raise Refusal(400, "'Message' failed on the 'required' tag")
    return message


CREATE = {"appid": UINT, "message": STRING, "title": STRING, "priority": INT, "extras": OBJECT}
ALL = [Ntfy, lambda: Gotify("Gotify 2", {**CREATE, "id": UINT, "date": DATE}), lambda: Gotify("Gotify 3", CREATE)]


class Peer:
  """A server that can be stopped and started again. It remembers what it accepted and what it refused."""

  def __init__(self, kind, port):
    self.kind = kind
    self.port = port
    self.accepted = []
    self.refused = []
    self.server = None

  @property
  def url(self):
    return f"http://127.0.0.1:{self.port}{self.kind.path}"

  def start(self):
    peer = self

    class Handler(http.server.BaseHTTPRequestHandler):
      def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
          message = peer.kind.take(self.command, self.path, self.headers, body)
          peer.accepted.append((message, json.loads(body)))
          status, answer = 200, {"id": len(peer.accepted), **message}
        except Refusal as refusal:
          peer.refused.append(str(refusal))
          status, answer = refusal.status, {"error": str(refusal)}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

      do_GET = do_POST = do_PUT = handle_any

      def log_message(self, *_):
        pass

    self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
    threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

  def stop(self):
    if self.server:
      self.server.shutdown()
      self.server.server_close()
      self.server = None
