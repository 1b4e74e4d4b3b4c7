"""Reads recordings with Python's mcap, and byte by byte."""

import os, struct, sys

TOOLS = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache") + "/sensorhub/tools/python"
sys.path.insert(1, TOOLS)
try:
  from mcap.reader import NonSeekingReader, SeekingReader
  from mcap.records import Channel, Message
  from mcap.stream_reader import StreamReader
  from mcap.writer import Writer
  IS_THERE = True
except ImportError:
  IS_THERE = False


def need_mcap():
  from bench import Lacking
  if not IS_THERE:
    raise Lacking("needs Python's mcap: .ci/test-tools fetches it, or pip install mcap")


def content(channel, message):
  """The parts of a message that a copy must have. The number of a channel is not among them, because each file has its own numbers."""
  return (channel.topic, message.sequence, message.log_time, message.publish_time, message.data)


def by_stream(path):
  """Reads the messages of a file in the file's order."""
  with open(path, "rb") as file:
    channels = {}
    for record in StreamReader(file, validate_crcs=True).records:
      if isinstance(record, Channel):
        channels[record.id] = record
      elif isinstance(record, Message):
        yield content(channels[record.channel_id], record)


def by_reader(reader):
  """Returns a function that reads the messages of a file in order of time."""
  def read(path):
    with open(path, "rb") as file:
      for _, channel, message in reader(file, validate_crcs=True).iter_messages(log_time_order=True):
        yield content(channel, message)
  return read


def readers():
  """The readers by name."""
  return {
    "StreamReader": by_stream, "NonSeekingReader": by_reader(NonSeekingReader), "SeekingReader": by_reader(SeekingReader)}


def make_segments(folder, count, byte_count):
  """Writes complete recordings of about this size, which are older than all others."""
  os.makedirs(folder, exist_ok=True)
  for number in range(1, count + 1):
    with open(f"{folder}/sensorhub-20200101T000000Z-{number:03}.mcap", "wb") as file:
      writer = Writer(file)
      writer.start(library="benchmark")
      writer.add_attachment(0, 0, "filler", "application/octet-stream", bytes(byte_count))
      writer.finish()


MAGIC_LENGTH = 8
CHUNK, MESSAGE, DATA_END = 6, 5, 15
# The hub's own opcode, for a record that ends the data of one sync.
SEAL = 0x80


def records(data, start, end):
  """The opcode of each record in a part of a file, and where its content begins and ends."""
  while start + 9 <= end:
    (length,) = struct.unpack_from("<Q", data, start + 1)
    yield data[start], start + 9, start + 9 + length
    start += 9 + length


def message_ends(data):
  """For each message of an uncompressed file: where it ends, and where the data of its sync ends. In the file's order."""
  ends, unsealed = [], []
  for operation, start, end in records(data, MAGIC_LENGTH, len(data) - MAGIC_LENGTH):
    if operation == CHUNK:
      (length,) = struct.unpack_from("<I", data, start + 28)
      first = start + 28 + 4 + length + 8
      unsealed += [last for inner, _, last in records(data, first, end) if inner == MESSAGE]
    elif operation in (SEAL, DATA_END):
      ends += [(last, end) for last in unsealed]
      unsealed = []
  return ends
