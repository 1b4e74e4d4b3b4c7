"""An autopilot at a UDP port, whose clock is 1000 seconds ahead. Ends with 0 once it has got everything with right times."""

import os, socket, sys, time

os.environ["MAVLINK20"] = "1"
from pymavlink.dialects.v20 import common as mavlink

AHEAD = 1_000_000_000_000
LIMIT = 120

peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.bind(("127.0.0.1", int(sys.argv[1])))
peer.settimeout(0.5)
parser = mavlink.MAVLink(None, 1, 1)
sender = mavlink.MAVLink(None, 1, 1)
seen, expected, answered = set(), None, False


def now():
  return time.monotonic_ns() + AHEAD


def send(message, address):
  peer.sendto(message.pack(sender), address)
  sender.seq = (sender.seq + 1) % 256


end = time.monotonic() + LIMIT
while time.monotonic() < end:
  try:
    data, address = peer.recvfrom(2048)
  except TimeoutError:
    continue
  messages = parser.parse_buffer(data) or []
  assert len(messages) == 1 and messages[0].get_type() != "BAD_DATA", data.hex()
  message = messages[0]
  kind = message.get_type()
  assert (message.get_srcSystem(), message.get_srcComponent()) == (1, 191), message
  assert expected is None or message.get_seq() == expected, (message.get_seq(), expected)
  expected = (message.get_seq() + 1) % 256
  if kind == "HEARTBEAT":
    assert message.type == mavlink.MAV_TYPE_ONBOARD_CONTROLLER and message.autopilot == mavlink.MAV_AUTOPILOT_INVALID
    # The values are simulated.
    assert message.base_mode == mavlink.MAV_MODE_FLAG_HIL_ENABLED
    send(mavlink.MAVLink_heartbeat_message(2, mavlink.MAV_AUTOPILOT_PX4, 0, 0, mavlink.MAV_STATE_STANDBY, 3), address)
    send(mavlink.MAVLink_timesync_message(0, now()), address)
  elif kind == "TIMESYNC" and message.tc1 == 0:
    send(mavlink.MAVLink_timesync_message(now(), message.ts1), address)
    answered = True
  elif kind == "TIMESYNC":
    # The hub's answer is in this clock once it knows the difference.
    if answered and abs(message.tc1 - now()) < 2_000_000_000:
      seen.add(kind)
  elif kind in ("GPS_INPUT", "GPS_RAW_INT"):
    age = now() - message.time_usec * 1000
    if message.fix_type >= 2 and abs(message.lat) <= 900_000_000 and -1_000_000_000 < age < 10_000_000_000:
      seen.add(kind)
  if seen == {"TIMESYNC", "GPS_INPUT", "GPS_RAW_INT"}:
    sys.exit(0)
sys.exit(f"only {sorted(seen)} came in {LIMIT} s")
