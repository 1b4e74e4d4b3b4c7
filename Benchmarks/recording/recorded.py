"""Recordings as others read them: Python's mcap, and the bytes of the file themselves."""

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
  """Of a message, what must be found again. Channels are numbered anew in each file."""
  return (channel.topic, message.sequence, message.log_time, message.publish_time, message.data)


def by_stream(path):
  """In the file's order."""
  with open(path, "rb") as file:
    channels = {}
    for record in StreamReader(file, validate_crcs=True).records:
      if isinstance(record, Channel):
        channels[record.id] = record
      elif isinstance(record, Message):
        yield content(channels[record.channel_id], record)


def by_reader(reader):
  """In the order of their times."""
  def read(path):
    with open(path, "rb") as file:
      for _, channel, message in reader(file, validate_crcs=True).iter_messages(log_time_order=True):
        yield content(channel, message)
  return read


def readers():
  """By their names."""
  return {
    "StreamReader": by_stream, "NonSeekingReader": by_reader(NonSeekingReader), "SeekingReader": by_reader(SeekingReader)}


def make_segments(folder, count, byte_count):
  """Older recordings than any, each whole, and about so large."""
  os.makedirs(folder, exist_ok=True)
  for number in range(1, count + 1):
    with open(f"{folder}/sensorhub-20200101T000000Z-{number:03}.mcap", "wb") as file:
      writer = Writer(file)
      writer.start(library="benchmark")
      writer.add_attachment(0, 0, "filler", "application/octet-stream", bytes(byte_count))
      writer.finish()


MAGIC_LENGTH = 8
CHUNK, MESSAGE, DATA_END = 6, 5, 15
# The hub's own opcode: a record that ends the data of one sync.
SEAL = 0x80


def records(data, start, end):
  """The operation, and where the content is, of each record in a part of a file."""
  while start + 9 <= end:
    (length,) = struct.unpack_from("<Q", data, start + 1)
    yield data[start], start + 9, start + 9 + length
    start += 9 + length


def message_ends(data):
  """Where each message of a file that is not compressed ends, and where what was synced with it does, in the file's order."""
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
