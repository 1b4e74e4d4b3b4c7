"""Talks to simulated receivers (PERSONALITY=PORT) through third-party parsers, and refuses every byte that these do not know.

pyubx2 makes the commands and parses the answers; its tables state the length of each message. Prints a line for each receiver.
"""

import os, select, struct, sys, termios, threading, time, tty, zlib
from pynmeagps import NMEAReader
from pyubx2 import GET, POLL, SET, UBXMessage, UBXReader
from pyubx2.ubxtypes_get import UBX_PAYLOADS_GET

SPEEDS = {9600: termios.B9600, 38400: termios.B38400, 115200: termios.B115200, 460800: termios.B460800}
FACTORY = {"ublox-9": 38400, "airoha": 115200, "quectel": 460800, "unicore": 115200}
PATIENCE = 150.0


def size(kind):
  """The size of a field of pyubx2, in bytes."""
  return int(kind[1:4])


def lengths(fields):
  """The size of a payload's fixed fields, and of one repeated item, in bytes. None if no item repeats."""
  fixed, item = 0, None
  for value in fields.values():
    if isinstance(value, str):
      fixed += size(value)
    elif isinstance(value, tuple) and isinstance(value[1], dict):
      if isinstance(value[0], str) and value[0][0] == "X" and value[0][1:].isdigit():
        fixed += size(value[0])
      elif isinstance(value[0], int):
        fixed += value[0] * lengths(value[1])[0]
      else:
        item = lengths(value[1])[0]
    else:
      fixed += size(value[0])
  return fixed, item


# The library's name of a message that has several forms.
FORMS = {("SEC-UNIQID", 2): "SEC-UNIQID-V2", ("CFG-PM2", 44): None, ("NAV-PVT", 84): None}


def check_length(message, payload):
  name = message.identity
  if (name, len(payload)) in FORMS:
    return
  name = FORMS.get((name, payload[0] if payload else None), name)
  fields = UBX_PAYLOADS_GET[name]
  fixed, item = lengths(fields)
  rest = len(payload) - fixed
  assert rest == 0 if not item else rest >= 0 and rest % item == 0, f"{message.identity}: {len(payload)} bytes"


# RTCM 3 message 1005 of station 42, at the centre of the earth, with its checksum.
CORRECTION = bytes.fromhex("d300133ed02a00000000000000000000000000000000333a01")


def casic(group, number, payload=b""):
  words = struct.unpack(f"<{len(payload) // 4}I", payload)
  total = ((number << 24) + (group << 16) + len(payload) + sum(words)) & 0xFFFFFFFF
  return b"\xba\xce" + struct.pack("<HBB", len(payload), group, number) + payload + struct.pack("<I", total)


# Payload lengths from CASIC's specification.
CASIC = {(1, 1): 28, (1, 3): 80, (1, 0x10): 24, (5, 0): 4, (5, 1): 4, (6, 0): 8, (6, 1): 4, (6, 3): 16, (6, 4): 4,
         (6, 7): 44, (0x0A, 4): 64}


def sentence(body):
  total = 0
  for byte in body.encode():
    total ^= byte
  return f"${body}*{total:02X}\r\n".encode()


def unicore_answer(line):
  """Unicore's answer to a command: the name, and the fields. Its checksum includes the dollar sign, as in published dialogues:
  $command,unlog,response: OK*21"""
  body, digits = line.decode("ascii").rstrip("\r\n").rsplit("*", 1)
  total = 0
  for byte in body.encode():
    total ^= byte
  assert total == int(digits, 16), f"{line}: its checksum is not {total:02X}"
  name, *fields = body[1:].split(",")
  return name, fields


def unicore_log(line):
  """A log of Unicore's: the name, and the fields behind the header. Its CRC begins with 0 and is not inverted, as in the log
  #VERSIONA,…*769fd54f of the maker's book."""
  body, digits = line.rstrip(b"\r\n")[1:].rsplit(b"*", 1)
  assert len(digits) == 8 and zlib.crc32(body, 0xFFFFFFFF) ^ 0xFFFFFFFF == int(digits, 16), f"{line}: its CRC is wrong"
  header, fields = body.decode("ascii").split(";")
  assert len(header.split(",")) == 10, header
  return header.split(",")[0], fields.split(",")


class Port:
  def __init__(self, path, speed):
    self.file = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    tty.setraw(self.file)
    self.set_speed(speed)
    self.waiting = b""
    self.seen = {}
    self.deadline = time.monotonic() + PATIENCE

  def set_speed(self, speed):
    settings = termios.tcgetattr(self.file)
    settings[4] = settings[5] = SPEEDS[speed]
    termios.tcsetattr(self.file, termios.TCSANOW, settings)

  def receive(self):
    """The bytes that have arrived."""
    data = os.read(self.file, 4096)
    # A line whose other end is closed stays readable but returns no data.
    if not data:
      raise AssertionError(f"the receiver is unplugged; so far {self.seen}")
    return data

  def read(self):
    """The next message: its name and its contents."""
    while time.monotonic() < self.deadline:
      found = self.take()
      if found:
        self.seen[found[0]] = self.seen.get(found[0], 0) + 1
        return found
      if select.select([self.file], [], [], 1)[0]:
        self.waiting += self.receive()
    raise AssertionError(f"the expected message does not arrive; so far {self.seen}")

  def take(self):
    data = self.waiting
    if data[:1] == b"$":
      end = data.find(b"\n") + 1
      if not end:
        return None
      if data.startswith((b"$command,", b"$devicename,")):
        name, message = unicore_answer(data[:end])
      else:
        message = NMEAReader.parse(data[:end])
        name = message.identity
    elif data[:1] == b"#":
      end = data.find(b"\n") + 1
      if not end:
        return None
      name, message = unicore_log(data[:end])
    elif data[:2] == b"\xb5\x62" and len(data) >= 8:
      end = 8 + struct.unpack("<H", data[4:6])[0]
      if len(data) < end:
        return None
      message = UBXReader.parse(data[:end])
      check_length(message, data[6:end - 2])
      name = message.identity
    elif data[:2] == b"\xba\xce" and len(data) >= 6:
      length, group, number = struct.unpack("<HBB", data[2:6])
      end = length + 10
      if len(data) < end:
        return None
      message = data[6:end - 4]
      assert casic(group, number, message) == data[:end], "its checksum is wrong"
      expected = CASIC.get((group, number))
      assert length == expected if expected else (length - 8) % 12 == 0, f"CASIC {group} {number}: {length} bytes"
      name = f"CASIC-{group:02X}-{number:02X}"
    else:
      assert len(data) < 8 and data[:1] in (b"", b"\xb5", b"\xba"), f"stray bytes: {data[:40]}"
      return None
    self.waiting = data[end:]
    return name, message

  def send(self, command):
    os.write(self.file, command if isinstance(command, bytes) else command.serialize())

  def wait(self, name, condition=lambda message: True):
    while True:
      found, message = self.read()
      if found == name and condition(message):
        return message

  def ask(self, command, name, condition=lambda message: True):
    self.send(command)
    return self.wait(name, condition)

  def acknowledged(self, command, answer="ACK-ACK"):
    """Waits for the answer to a configuration message."""
    group, number = command.msg_cls[0], command.msg_id[0]
    self.send(command)
    while True:
      name, message = self.read()
      if name in ("ACK-ACK", "ACK-NAK") and (message.clsID, message.msgID) == (group, number):
        assert name == answer, f"{command.identity}: {name}"
        return


def poll(group, name, **values):
  return UBXMessage(group, f"{group}-{name}", POLL, **values)


def configure(name, payload):
  return UBXMessage("CFG", f"CFG-{name}", SET, payload=payload)


def ublox(port, number):
  port.wait("GPRMC" if number < 7 else "GNRMC" if number > 7 else "GPRMC", lambda message: message.status == "A")
  version = port.ask(poll("MON", "VER"), "MON-VER")
  assert version.hwVersion[:8].decode() == {6: "00040007", 7: "00070000", 8: "00080000", 9: "00190000",
                                            10: "000A0000"}[number]
  outputs = {"POSLLH": (1, 2), "STATUS": (1, 3), "DOP": (1, 4), "VELNED": (1, 0x12), "TIMEUTC": (1, 0x21)}
  if number < 9:
    outputs |= {"SOL": (1, 6), "SVINFO": (1, 0x30)}
  if number > 6:
    outputs |= {"PVT": (1, 7)}
  if number > 7:
    outputs |= {"SAT": (1, 0x35), "EOE": (1, 0x61)}
  if number > 8:
    outputs |= {"COV": (1, 0x36), "SIG": (1, 0x43)}
  if number < 10:
    polls = [("PRT", "CFG-PRT"), ("RATE", "CFG-RATE"), ("NAV5", "CFG-NAV5"), ("NAVX5", "CFG-NAVX5"), ("TP5", "CFG-TP5")]
    polls += [("GNSS", "CFG-GNSS")] if number > 6 else []
    polls += [("PM2", "CFG-PM2"), ("RXM", "CFG-RXM")] if number < 9 else []
    polls += [("PMS", "CFG-PMS")] if number == 8 else []
    for name, answer in polls:
      command = UBXMessage("CFG", f"CFG-{name}", POLL, payload=b"")
      port.ask(command, answer)
      port.wait("ACK-ACK", lambda message: message.clsID == 6)
    port.acknowledged(configure("RATE", struct.pack("<HHH", 200, 1, 1)))
    for group, identifier in outputs.values():
      port.acknowledged(configure("MSG", bytes([group, identifier, 1])))
    port.acknowledged(configure("MSG", bytes([0x0D, 1, 1])))
    port.acknowledged(configure("NAV5", struct.pack("<HB", 1, 4) + bytes(33)))
    port.acknowledged(configure("NAV5", struct.pack("<HB", 1, 77) + bytes(33)), "ACK-NAK")
    navx5 = bytearray(40)
    navx5[0], navx5[3], navx5[17] = 2 if number > 7 else 0, 4, 1
    port.acknowledged(configure("NAVX5", bytes(navx5)))
    port.acknowledged(configure("CFG", struct.pack("<III", 0, 0x1F, 0)))
  else:
    port.acknowledged(configure("RATE", struct.pack("<HHH", 200, 1, 1)), "ACK-NAK")
    keys = [(f"CFG_MSGOUT_UBX_NAV_{name}_UART1", 1) for name in outputs]
    keys += [("CFG_MSGOUT_UBX_TIM_TP_UART1", 1), ("CFG_RATE_MEAS", 200), ("CFG_NAVSPG_ACKAIDING", 1)]
    port.acknowledged(UBXMessage.config_set(3, 0, keys))
  if number > 8:
    port.acknowledged(UBXMessage.config_set(1, 0, [("CFG_MSGOUT_UBX_MON_RF_UART1", 1)]))
    port.acknowledged(UBXMessage.config_set(1, 0, [("CFG_SIGNAL_GPS_L5_ENA", 1)]), "ACK-NAK")
    takes = number == 9
    port.acknowledged(
      UBXMessage.config_set(1, 0, [("CFG_MSGOUT_UBX_RXM_RTCM_UART1", 1)]), "ACK-ACK" if takes else "ACK-NAK")
    if takes:
      report = port.ask(CORRECTION, "RXM-RTCM")
      assert (report.msgType, report.refStation, report.crcFailed, report.msgUsed) == (1005, 42, 0, 1), report
    values = port.ask(UBXMessage.config_poll(0, 0, ["CFG_RATE_MEAS", "CFG_UART1_BAUDRATE"]), "CFG-VALGET")
    assert values.CFG_RATE_MEAS == 200 and values.CFG_UART1_BAUDRATE == FACTORY.get(f"ublox-{number}", 9600)
    port.ask(UBXMessage.config_poll(7, 0, [0x2091FFFF]), "CFG-VALGET")
    port.acknowledged(UBXMessage.config_set(2, 0, [("CFG_NAVSPG_DYNMODEL", 4)]))
    port.acknowledged(UBXMessage.config_del(2, 0, ["CFG_NAVSPG_DYNMODEL"]))
    port.acknowledged(UBXMessage.config_poll(1, 0, ["CFG_NAVSPG_DYNMODEL"]), "ACK-NAK")
    port.wait("MON-RF")
  for name in outputs:
    port.wait(f"NAV-{name}")
  port.wait("TIM-TP")
  if number == 6:
    port.acknowledged(poll("NAV", "PVT"), "ACK-NAK")
  else:
    pvt = port.wait("NAV-PVT", lambda message: message.fixType == 3)
    assert abs(pvt.lat - 52.5163) < 0.01 and abs(pvt.lon - 13.3777) < 0.01 and pvt.gnssFixOk == 1
  if number < 9:
    port.ask(poll("MON", "HW"), "MON-HW")
  if number > 7:
    port.ask(poll("SEC", "UNIQID"), "SEC-UNIQID")
    place = UBXMessage("MGA", "MGA-INI-POS-LLH", SET, payload=bytes([1, 0, 0, 0]) + struct.pack("<iiiI", 1, 2, 3, 4))
    port.ask(place, "MGA-ACK-DATA0", lambda message: message.msgId == 0x40)
    database = port.ask(UBXMessage("MGA", "MGA-DBD", POLL), "MGA-DBD")
    port.ask(database.serialize(), "MGA-ACK-DATA0", lambda message: message.msgId == 0x80)
  if number in (8, 9):
    port.ask(UBXMessage("UPD", "UPD-SOS", SET, payload=bytes(4)), "UPD-SOS", lambda message: message.response == 1)
  if number < 10:
    port.send(configure("PRT", struct.pack("<BBHIIHHHH", 1, 0, 0, 0x8C0, 115200, 7, 3, 0, 0)))
  else:
    port.send(UBXMessage.config_set(1, 0, [("CFG_UART1_BAUDRATE", 115200)]))
  settle(port, 115200)
  port.ask(poll("MON", "VER"), "MON-VER")


def settle(port, speed):
  """Changes to another speed after the receiver had time to accept the command, as a host must. Bytes from that time are noise."""
  time.sleep(0.3)
  port.set_speed(speed)
  # Between two epochs no message is truncated.
  while select.select([port.file], [], [], 0.08)[0]:
    port.receive()
  port.waiting = b""


def mediatek(port):
  port.wait("GNRMC", lambda message: message.status == "A")
  port.ask(sentence("PMTK605"), "PMTK705")
  for command in ("PMTK220,200", "PMTK314,0,1,1,1,1,1,0,1,0,0,0,0,0,0,0,0,0,1,0"):
    port.ask(sentence(command), "PMTK001")
  port.wait("GNZDA")
  port.ask(sentence("PMTK353,1,0,1,0,0"), "PMTK001")
  port.wait("PMTK010")
  port.ask(sentence("PMTK161,0"), "PMTK001")
  port.ask(b"\r", "PMTK010")


def airoha(port):
  port.wait("GNRMC", lambda message: message.status == "A")
  port.ask(sentence("PAIR021"), "PAIR021")
  for command, answer in (("PAIR051", "PAIR051"), ("PAIR063,0", "PAIR063"), ("PAIR067", "PAIR067"), ("PAIR391,1", "PAIR001"),
                          ("PAIR062,6,1", "PAIR001"), ("PAIR865", "PAIR865")):
    port.ask(sentence(command), answer)
  port.wait("GNZDA")
  port.wait("PAIRSPF")


def quectel(port):
  port.wait("GNRMC", lambda message: message.status == "A")
  port.ask(sentence("PQTMVERNO"), "PQTMVERNO", lambda message: message.verstr == "LG290P03AANR02A01S")
  port.ask(sentence("PQTMUNIQID"), "PQTMUNIQID")
  port.ask(sentence("PQTMCFGCNST,R"), "PQTMCFGCNST", lambda message: message.navic == 1)
  port.ask(sentence("PQTMCFGFIXRATE,R"), "PQTMCFGFIXRATE", lambda message: message.fixinterval == 1000)
  port.ask(sentence("PQTMCFGUART,R"), "PQTMCFGUART", lambda message: message.baudrate == 460800)
  port.ask(sentence("PQTMCFGMSGRATE,W,PQTMEPE,1,2"), "PQTMCFGMSGRATE")
  port.ask(sentence("PQTMCFGMSGRATE,W,GST,1"), "PQTMCFGMSGRATE")
  estimate = port.wait("PQTMEPE")
  assert abs(estimate.epe2d ** 2 - estimate.epenorth ** 2 - estimate.epeeast ** 2) < 0.01, estimate
  port.wait("GNGST")
  port.ask(sentence("PQTMSAVEPAR"), "PQTMSAVEPAR")


def at6558(port):
  port.wait("GNRMC", lambda message: message.status == "A")
  port.ask(sentence("PCAS06,1"), "GPTXT", lambda message: message.text.startswith("HW=ATGM336H"))
  for number in (0, 1, 3, 4, 7):
    port.ask(casic(6, number), f"CASIC-06-{number:02X}")
    port.wait("CASIC-05-01")
  port.ask(casic(0x0A, 4), "CASIC-0A-04")
  for number in (1, 3, 0x10, 0x20, 0x21, 0x22):
    port.ask(casic(6, 1, bytes([1, number, 1, 0])), "CASIC-05-01")
    port.wait(f"CASIC-01-{number:02X}")
  port.ask(casic(6, 4, struct.pack("<HH", 3, 0)), "CASIC-05-00")


def um982(port):
  port.wait("GNRMC", lambda message: message.status == "A")
  port.send(b"VERSIONA\r\n")
  port.wait("command", lambda fields: fields == ["VERSIONA", "response: OK"])
  port.wait("VERSIONA", lambda fields: fields[:2] == ['"UM982"', '"R4.10Build15434"'] and len(fields) == 6)
  for command, result in (("GPGGA 0.2", "OK"), ("gpgsv 1", "OK"), ("UNIHEADINGA 1", "OK"), ("MASK GLO", "OK"), ("MODE ROVER UAV", "OK"),
                          ("CONFIG SBAS ENABLE AUTO", "OK"), ("SAVECONFIG", "OK"),
                          ("RTCM1230 COM1 10", "PARSING FAILD NO MATCHING FUNC")):
    port.ask(f"{command}\r\n".encode(), "command", lambda fields: fields == [command, f"response: {result}"])
  port.wait("UNIHEADINGA", lambda fields: fields[:2] == ["SOL_COMPUTED", "NARROW_INT"] and len(fields) == 17)
  port.wait("GAGSV")
  port.ask(b"CONFIG CMDFORMAT 1\r\n", "command")
  # Now a command needs a checksum, without the dollar sign.
  port.ask(b"UNLOG\r\n" + sentence("VERSIONA"), "command", lambda fields: fields == ["VERSIONA", "response: OK"])
  port.wait("VERSIONA")
  port.wait("GNGGA")


def talk(personality, path, results):
  try:
    port = Port(path, FACTORY.get(personality, 9600))
    sys.stdout.write(f"open {personality}\n")
    sys.stdout.flush()
    if personality.startswith("ublox-"):
      ublox(port, int(personality[6:]))
    else:
      {"mediatek": mediatek, "airoha": airoha, "quectel": quectel,
       "casic": at6558, "unicore": um982}[personality](port)
    results.append(f"{personality} done, {sum(port.seen.values())} messages of {len(port.seen)} kinds")
  except BaseException as error:
    results.append(f"{personality} failed: {error!r}")


def end_with_the_test():
  """Ends the program once its output has no reader, because a test that is killed cannot end this program."""
  reader = select.poll()
  reader.register(sys.stdout, 0)
  reader.poll()
  os._exit(1)


threading.Thread(target=end_with_the_test, daemon=True).start()
results = []
threads = [threading.Thread(target=talk, args=(*argument.split("="), results)) for argument in sys.argv[1:]]
for thread in threads:
  thread.start()
for thread in threads:
  thread.join()
for line in sorted(results):
  print(line)
sys.exit(0 if all(" done, " in line for line in results) else 1)
