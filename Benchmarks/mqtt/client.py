"""A minimal MQTT 5 client for a viewer whose times are measured."""

import select, socket, struct, time


def text(value):
  data = value.encode()
  return struct.pack(">H", len(data)) + data


def number(value):
  data = bytearray()
  while True:
    data.append(value % 128 | (128 if value > 127 else 0))
    value //= 128
    if not value:
      return bytes(data)


class Client:
  def __init__(self, space, address, name, topics=()):
    with space.inside():
      self.socket = socket.create_connection(address, 10)
    self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    self.buffer = b""
    self.identifier = 0
    # No keep-alive.
    self.send(0x10, text("MQTT") + b"\x05\x02\x00\x00\x00" + text(name))
    if self.next(10)[0] != 0x20:
      raise ConnectionError("the broker lets nobody in")
    for topic in topics:
      self.send(0x82, self.fresh() + b"\x00" + text(topic) + b"\x00")
      while self.next(10)[0] != 0x90:
        pass

  def fresh(self):
    self.identifier = self.identifier % 65535 + 1
    return struct.pack(">H", self.identifier)

  def send(self, kind, body):
    self.socket.sendall(bytes([kind]) + number(len(body)) + body)

  def retain(self, topic, payload):
    """Publishes a retained message, and waits for the broker's answer; returns the time at which the message was sent."""
    body = text(topic) + self.fresh() + b"\x00" + payload.encode()
    at = time.monotonic()
    self.send(0x33, body)
    while self.next(10)[0] != 0x40:
      pass
    return at

  def take(self):
    if len(self.buffer) < 2:
      return None
    length, shift, start = 0, 0, 1
    while True:
      if start >= len(self.buffer):
        return None
      byte = self.buffer[start]
      length |= (byte & 127) << shift
      shift += 7
      start += 1
      if byte < 128:
        break
    if len(self.buffer) < start + length:
      return None
    packet = (self.buffer[0], self.buffer[start:start + length])
    self.buffer = self.buffer[start + length:]
    return packet

  def next(self, seconds):
    """The next packet: its first byte, and its body; (0, b"") if none arrives in time."""
    end = time.monotonic() + seconds
    while True:
      packet = self.take()
      if packet:
        return packet
      if not select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
        return (0, b"")
      data = self.socket.recv(65536)
      if not data:
        raise ConnectionError("the broker has closed the connection")
      self.buffer += data

  def message(self, seconds):
    """The payload of the next message with QoS 0, and the time at which it arrived."""
    end = time.monotonic() + seconds
    while True:
      kind, body = self.next(max(0, end - time.monotonic()))
      at = time.monotonic()
      if kind & 0xF0 == 0x30:
        length = struct.unpack(">H", body[:2])[0]
        start = 2 + length
        # Skips the properties, whose length is below 128 bytes.
        return body[start + 1 + body[start]:], at
      if at >= end:
        return None, at

  def close(self):
    self.socket.close()
