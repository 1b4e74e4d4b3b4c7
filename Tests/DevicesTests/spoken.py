"""Checks messages to receivers, each an argument in hexadecimal, and refuses every byte that other parsers do not understand.

pyubx2 and pynmeagps parse what they know: UBX whole, with its configuration keys, and Airoha's and Quectel's sentences. Of MediaTek's and
CASIC's sentences pynmeagps checks the frame, and a table how many fields they have; CASIC's messages are checked by their sum, and Unicore's
lines by patterns.
"""

import re, struct, sys
from pynmeagps import NMEA_PAYLOADS_POLL_PROP, NMEA_PAYLOADS_SET_PROP, POLL, SET, VALCKSUM, VALMSGID, NMEAReader
from pyubx2 import SETPOLL, UBX_CONFIG_DATABASE, UBX_PAYLOADS_SET, UBXReader

KEYS = {value[0] for value in UBX_CONFIG_DATABASE.values()}

# The number of fields of each sentence, from the makers' documents (PMTK protocol reference, CASIC specification 4.2).
FIELDS = {"PMTK101": 0, "PMTK102": 0, "PMTK103": 0, "PMTK161": 1, "PMTK220": 1, "PMTK225": 1, "PMTK251": 1, "PMTK313": 1,
          "PMTK352": 1, "PMTK353": 5, "PMTK605": 0, "PAIR021": 0, "PMTK740": 6, "PMTK741": 9, "PCAS01": 1, "PCAS06": 1, "PCAS10": 1, "PCAS12": 1}
# The length of the payload of each CASIC message.
CASIC = {(11, 1): 56, (6, 4): 4, (6, 5): 4, (6, 7): 44}
# Unicore's commands, by its N4 Products Commands and Logs Reference Book, R1.4: chapters 3, 4.1, 4.10, 5, 7 and 8.
UNICORE = [
  r"VERSIONA( COM[123])?", r"UNLOG", r"(GPGGA|GPRMC|GPGSA|GPGST|GPGSV|UNIHEADINGA) (\d+|0\.5|0\.2|0\.1|0\.05)",
  r"(UN)?MASK (GPS|BDS|GLO|GAL|QZSS)", r"CONFIG SBAS (ENABLE AUTO|DISABLE)",
  r"CONFIG COM[123] (9600|19200|38400|57600|115200|230400|460800|921600)",
  r"MODE ROVER( SURVEY| UAV| UAV HIGHDYN| AUTOMOTIVE)?", r"SAVECONFIG", r"RESET( EPHEM| ALL)?",
]
# What wakes a receiver is no message.
CALLS = (b"\xff" * 8, b"\r\n")


def size(kind):
  return int(kind[1:4])


def lengths(fields):
  """The size of a payload's fixed fields, and of one repeated item, in bytes. None if no item repeats."""
  fixed, item = 0, None
  for value in fields.values():
    if isinstance(value, str):
      fixed += size(value)
    elif isinstance(value[1], dict):
      if isinstance(value[0], str) and value[0][0] == "X" and value[0][1:].isdigit():
        fixed += size(value[0])
      elif isinstance(value[0], int):
        fixed += value[0] * lengths(value[1])[0]
      else:
        item = lengths(value[1])[0]
    else:
      fixed += size(value[0])
  return fixed, item


def check_ubx(data):
  message = UBXReader.parse(data, msgmode=SETPOLL)
  assert message.serialize() == data, "pyubx2 writes it differently"
  assert "NOMINAL" not in message.identity and "UNKNOWN" not in message.identity, message.identity
  payload = data[6:-2]
  if message.identity in ("CFG-VALSET", "CFG-VALGET"):
    place = 4
    while place < len(payload):
      key = struct.unpack_from("<I", payload, place)[0]
      assert key in KEYS, f"no receiver has the key {key:#x}"
      # The key states the size of its value. A request has keys without values.
      place += 4 + ({1: 1, 2: 1, 3: 2, 4: 4, 5: 8}[key >> 28] if message.identity == "CFG-VALSET" else 0)
    assert place == len(payload), "its last value is truncated"
  # A message that sets the rate for the present port alone, or asks for a rate, is shorter than the listed forms.
  elif payload and not (message.identity == "CFG-MSG" and len(payload) in (2, 3)):
    forms = [name for name in UBX_PAYLOADS_SET if name == message.identity or name.startswith(message.identity + "-")]
    def fits(form):
      fixed, item = lengths(UBX_PAYLOADS_SET[form])
      rest = len(payload) - fixed
      return rest == 0 if not item else rest >= 0 and rest % item == 0
    assert any(fits(form) for form in forms), f"{message.identity} of {len(payload)} bytes"
  return message.identity


def check_quectel(data, name, values):
  """A command sets something or asks for it. The library's table has several forms of some commands."""
  asks = values[:1] == ["R"] or not values and name[1:] in NMEA_PAYLOADS_POLL_PROP
  forms, mode = (NMEA_PAYLOADS_POLL_PROP, POLL) if asks else (NMEA_PAYLOADS_SET_PROP, SET)
  message = NMEAReader.parse(data, msgmode=mode, validate=VALCKSUM | VALMSGID)
  fits = [form for form in forms if form.split("_")[0] == name[1:] and len(forms[form]) == len(values)]
  assert fits, f"{name} has {len(values)} fields"
  assert message.serialize() == data, "it is not what pynmeagps makes of it"
  return name


def check_sentence(data):
  assert data.endswith(b"\r\n") and data.count(b"\n") == 1
  name, *values = data[1:data.index(b"*")].decode("ascii").split(",")
  if name.startswith("PQTM"):
    return check_quectel(data, name, values)
  # Proprietary sentences are listed without their first letter.
  if name[1:] in NMEA_PAYLOADS_SET_PROP:
    message = NMEAReader.parse(data, msgmode=SET, validate=VALCKSUM | VALMSGID)
    assert len(values) == len(NMEA_PAYLOADS_SET_PROP[name[1:]]), f"{name} has {len(values)} fields"
  else:
    message = NMEAReader.parse(data, msgmode=SET, validate=VALCKSUM)
    assert len(values) == FIELDS[name], f"{name} has {len(values)} fields"
  assert message.serialize() == data, "pynmeagps writes it differently"
  return name


def check_casic(data):
  length, group, number = struct.unpack("<HBB", data[2:6])
  payload = data[6:-4]
  assert len(payload) == length == CASIC[group, number], f"CASIC {group} {number} of {length} bytes"
  words = struct.unpack(f"<{length // 4}I", payload)
  total = ((number << 24) + (group << 16) + length + sum(words)) & 0xFFFFFFFF
  assert struct.unpack("<I", data[-4:])[0] == total, "its checksum is wrong"
  return f"CASIC-{group:02X}-{number:02X}"


def check_unicore(data):
  line = data.decode("ascii").removeprefix("\r\n")
  assert line.endswith("\r\n"), "its line does not end"
  assert any(re.fullmatch(pattern, line[:-2]) for pattern in UNICORE), "it is no command of Unicore's"
  return line.split()[0]


def check(data):
  if data in CALLS:
    return "call"
  if data[:2] == b"\xb5\x62":
    return check_ubx(data)
  if data[:2] == b"\xba\xce":
    return check_casic(data)
  if data.lstrip(b"\r\n")[:1].isalpha():
    return check_unicore(data)
  assert data[:1] == b"$", "it is nobody's"
  return check_sentence(data)


kinds = {}
for argument in sys.argv[1:]:
  data = bytes.fromhex(argument)
  try:
    kind = check(data)
  except Exception as error:
    sys.exit(f"{data!r}: {error!r}")
  kinds[kind] = kinds.get(kind, 0) + 1
print(" ".join(sorted(kinds)))
