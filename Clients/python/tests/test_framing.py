import unittest

from sensorhub_client.errors import ProtocolError
from sensorhub_client.framing import Event, EventSplitter, LineSplitter, ResponseReader


class LineSplitterTests(unittest.TestCase):
    def test_lines_come_whole_however_they_are_cut(self) -> None:
        text = b'{"a":1}\n{"b":2}\r\n\n{"c'
        for size in range(1, len(text) + 1):
            splitter = LineSplitter()
            lines = [line for at in range(0, len(text), size) for line in splitter.receive(text[at : at + size])]
            self.assertEqual(lines, [b'{"a":1}', b'{"b":2}', b""])
            self.assertEqual(splitter.receive(b'":3}\n'), [b'{"c":3}'])

    def test_an_endless_line_is_refused(self) -> None:
        splitter = LineSplitter()
        with self.assertRaises(ProtocolError):
            for _ in range(20):
                splitter.receive(b"x" * 1_000_000)


class EventSplitterTests(unittest.TestCase):
    def test_events_have_names_and_data(self) -> None:
        text = b": hello\n\nretry: 2000\n\nid: 7\ndata: {}\n\nevent: fence\ndata: one\ndata: two\n\ndata:x\n\n"
        for size in range(1, len(text) + 1):
            splitter = EventSplitter()
            events = [event for at in range(0, len(text), size) for event in splitter.receive(text[at : at + size])]
            self.assertEqual(events, [Event("message", "{}"), Event("fence", "one\ntwo"), Event("message", "x")])


    def test_an_event_without_end_is_refused(self) -> None:
        splitter = EventSplitter()
        with self.assertRaises(ProtocolError):
            for _ in range(20):
                splitter.receive(b"data: x\n" * 125_000)


class ResponseReaderTests(unittest.TestCase):
    def read(self, text: bytes, size: int) -> tuple[ResponseReader, bytes]:
        reader = ResponseReader()
        return reader, b"".join(reader.receive(text[at : at + size]) for at in range(0, len(text), size))

    def test_a_body_of_known_length(self) -> None:
        text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: a: b\r\n\r\nhello"
        for size in range(1, len(text) + 1):
            reader, body = self.read(text, size)
            self.assertEqual((body, reader.is_complete), (b"hello", True))
            assert reader.response is not None
            self.assertEqual((reader.response.status, reader.response.headers["x"]), (200, "a: b"))

    def test_chunks(self) -> None:
        text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwiki\r\nA;x=1\r\npedia\r\n in\r\n0\r\nT: 1\r\n\r\n"
        for size in range(1, len(text) + 1):
            reader, body = self.read(text, size)
            self.assertEqual((body, reader.is_complete), (b"wikipedia\r\n in", True))

    def test_an_endless_head_chunk_size_or_trailer_is_refused(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for begun, endless in [
            (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
            (b"HTTP/1.1 200 OK\r\n", b"X: x\r\n"),
            (head, b"0"),
            (head + b"1;", b"x"),
            (head + b"1\r\na", b"x"),
        ]:
            for size in (1, 1000):
                reader = ResponseReader()
                reader.receive(begun)
                with self.assertRaises(ProtocolError):
                    for _ in range(200_000 // size):
                        reader.receive(endless * size)

    def test_only_digits_are_a_size(self) -> None:
        for size in (b"-5", b"+5", b"1_0", b"0x5", b"", b";a=b"):
            with self.assertRaises(ProtocolError):
                self.read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b"\r\nhello\r\n", 100)

    def test_a_body_until_the_end(self) -> None:
        reader, body = self.read(b"HTTP/1.0 200 OK\r\n\r\nhello", 3)
        self.assertEqual((body, reader.is_complete), (b"hello", False))
        reader.end()
        self.assertTrue(reader.is_complete)

    def test_an_interim_response_is_passed_over(self) -> None:
        reader, body = self.read(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 7)
        assert reader.response is not None
        self.assertEqual((reader.response.status, body, reader.is_complete), (404, b"", True))

    def test_truncated_or_invalid_http_is_refused(self) -> None:
        for text in (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwi"):
            reader, _ = self.read(text, 100)
            self.assertRaises(ProtocolError, reader.end)
        for text in (b"SSH-2.0-x\r\n", b"HTTP/1.1 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):  # fmt: skip
            with self.assertRaises(ProtocolError):
                self.read(text, 100)
