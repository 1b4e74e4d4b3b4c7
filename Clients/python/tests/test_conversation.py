import unittest

from sensorhub_client.conversation import Conversation
from sensorhub_client.core import Core
from sensorhub_client.errors import (
    AccessDenied,
    HubBusy,
    HubUnavailable,
    NeedsWebPort,
    NotFound,
    ProtocolError,
    RequestRefused,
)
from sensorhub_client.models import State
from sensorhub_client.place import Token, find


def web(token: Token = None, url: str = "http://hub:8080") -> Core:
    return Core(find(url, token, None), "test")


def answer(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(text: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(text), text)


class SocketTests(unittest.TestCase):
    core = Core(find("/run/hub.sock", None, None), "test")

    def states(self) -> Conversation[State]:
        return self.core.states(2, ["attitude"], None).begin()

    def test_the_request_is_one_line(self) -> None:
        self.assertEqual(self.states().request, b'{"rateHz": 2, "parts": ["attitude"], "name": "test"}\n')
        fixes = self.core.fixes(60, 10, 45, None).begin()
        self.assertEqual(fixes.request, b'{"every": 60, "accuracy": 10, "within": 45, "name": "test"}\n')
        self.assertEqual(self.core.states(None, None, None).begin().request, b'{"name": "test"}\n')

    def test_states_are_returned_and_other_objects_are_ignored(self) -> None:
        talk = self.states()
        text = b'{"class":"STATE","mode":"none","monotonic":1}\n{"class":"NEWS"}\n{"class":"STATE","mode":"gnss","mono'
        self.assertEqual([state.mode for state in talk.receive(text)], ["none"])
        self.assertEqual([state.mode for state in talk.receive(b'tonic":2}\n')], ["gnss"])
        self.assertFalse(talk.is_over)
        self.assertRaises(HubUnavailable, talk.end)

    def test_a_refusal_has_the_hubs_words(self) -> None:
        with self.assertRaisesRegex(RequestRefused, "the hub refuses: there is no receiver"):
            self.states().receive(b'{"class":"ERROR","message":"there is no receiver"}\n')

    def test_nonsense_is_not_a_state(self) -> None:
        for line in (b"GET / HTTP/1.1\n", b"[1]\n", b'{"class":"STATE"}\n', b"\xff\xfe\n"):
            with self.assertRaises(ProtocolError):
                self.states().receive(line)

    def test_devices_are_one_line(self) -> None:
        call = self.core.devices()
        self.assertEqual(call.target().path, "/run/devices.sock")
        talk = call.begin()
        self.assertEqual((talk.request, talk.receive(b'{"class":"DEVICES","devices":[]}\n')), (b"", [()]))
        self.assertTrue(talk.is_over)

    def test_a_call_that_needs_the_web_port_says_so(self) -> None:
        for ask in (self.core.last_state, self.core.fences, self.core.holds, self.core.recordings, self.core.fence_events):
            with self.assertRaisesRegex(NeedsWebPort, r"Hub\('http://127.0.0.1:8080'\)"):
                ask()
        with self.assertRaises(NeedsWebPort):
            self.core.hold("gps", 60, None)


class WebTests(unittest.TestCase):
    def test_the_request_names_host_and_token(self) -> None:
        talk = web("0123456789abcdef", "http://proxy/boat").states(2, ["attitude", "rates"], None).begin()
        lines = talk.request.decode().split("\r\n")
        self.assertEqual(lines[0], "GET /boat/events?rate=2&parts=attitude,rates HTTP/1.1")
        self.assertIn("Host: proxy", lines)
        self.assertIn("Authorization: Bearer 0123456789abcdef", lines)
        self.assertEqual(lines[-2:], ["", ""])
        hold = web().hold("main gps/1", 90, "x y").begin().request
        self.assertTrue(hold.startswith(b"POST /devices/main%20gps%2F1/hold?for=90&hold=x+y HTTP/1.1\r\n"), hold)
        self.assertIn(b"\r\nContent-Length: 0\r\n", hold)

    def test_states_are_events_without_a_name(self) -> None:
        talk = web().states(None, None, None).begin()
        self.assertEqual(talk.receive(EVENTS[:20]), [])
        self.assertFalse(talk.is_accepted)
        self.assertEqual(talk.receive(EVENTS[20:] + chunk(b"retry: 2000\n\n") + chunk(b":\n\n")), [])
        self.assertTrue(talk.is_accepted)
        events = b'event: sky\ndata: {"class":"SKY"}\n\nid: 1\ndata: {"class":"STATE","mode":"none","monotonic":1}\n\n'
        self.assertEqual([state.mode for state in talk.receive(chunk(events))], ["none"])
        talk.receive(b"0\r\n\r\n")
        self.assertTrue(talk.is_over)

    def test_fences_are_events_of_that_name(self) -> None:
        talk = web().fence_events().begin()
        event = b'event: fence\ndata: {"class":"FENCE","name":"anchor","state":"inside","seconds":1}\n\ndata: {}\n\n'
        self.assertEqual([(fence.name, fence.state) for fence in talk.receive(EVENTS + chunk(event))], [("anchor", "inside")])

    def test_each_refusal_has_its_error(self) -> None:
        body = b'{"error":{"message":"because"}}'
        cases: list[tuple[str, Token, type[Exception], str]] = [
            ("400 Bad Request", None, RequestRefused, "the hub refuses: because"),
            ("401 Unauthorized", None, AccessDenied, "wants its token; pass token="),
            ("401 Unauthorized", "wrong", AccessDenied, "refuses this token; compare"),
            ("403 Forbidden", None, AccessDenied, "because"),
            ("404 Not Found", None, NotFound, "because"),
            ("421 Misdirected Request", None, AccessDenied, "because"),
            ("502 Bad Gateway", None, HubUnavailable, "the proxy"),
            ("301 Moved", None, RequestRefused, "use that address"),
            ("503 Service Unavailable", None, HubBusy, "is busy: because"),
        ]
        for status, token, kind, message in cases:
            for call in (web(token).states(None, None, None), web(token).devices()):
                with self.assertRaisesRegex(kind, message):
                    call.begin().receive(answer(status, body))
        with self.assertRaises(HubBusy) as caught:
            web().devices().begin().receive(answer("503 Busy", b"", "Retry-After: 10"))
        self.assertEqual(caught.exception.retry_after, 10)

    def test_a_document_without_end_is_refused(self) -> None:
        talk = web().devices().begin()
        talk.receive(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        with self.assertRaises(ProtocolError):
            for _ in range(20):
                talk.receive(chunk(b"x" * 1_000_000))

    def test_another_program_is_not_a_hub(self) -> None:
        with self.assertRaisesRegex(ProtocolError, "not an HTTP response"):
            web().devices().begin().receive(b"SSH-2.0-OpenSSH\r\n")
        with self.assertRaisesRegex(ProtocolError, "sends no events"):
            web().states(None, None, None).begin().receive(answer("200 OK", b"<html>", "Content-Type: text/html"))
        with self.assertRaises(ProtocolError):
            web().devices().begin().receive(answer("200 OK", b"<html>"))
        with self.assertRaises(HubUnavailable):
            web().devices().begin().end()

    def test_a_page_names_the_next_page(self) -> None:
        talk = web().history(1795341600, None, 0).begin()
        self.assertTrue(talk.request.startswith(b"GET /history?from=1795341600&every=0 HTTP"), talk.request)
        body = b'{"class":"HISTORY","states":[{"mode":"none","monotonic":1}],"next":"/history?from=7"}'
        (page,) = talk.receive(answer("200 OK", body))
        self.assertEqual((len(page.items), page.next), (1, "/history?from=7"))
        self.assertTrue(web().next_states("/history?from=7").begin().request.startswith(b"GET /history?from=7 HTTP"))
        with self.assertRaisesRegex(ProtocolError, "'next' is 'http://evil/'"):
            web().history(None, None, 0).begin().receive(answer("200 OK", b'{"states":[],"next":"http://evil/"}'))
