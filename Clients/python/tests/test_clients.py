"""Tests of both clients with a scripted web server, for rare answers of a hub: several pages, TLS, silence."""

import asyncio
import shutil
import socketserver
import ssl
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from sensorhub_client import AccessDenied, AsyncHub, Hub, HubBusy, HubUnavailable, ProtocolError, State


class ScriptedServer(socketserver.ThreadingTCPServer):
    """Answers each path with the given bytes, and closes the connection."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answers: dict[str, bytes], tls: ssl.SSLContext | None = None) -> None:
        self.answers, self.asked = answers, list[str]()
        super().__init__(("127.0.0.1", 0), _Answer)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'https' if tls else 'http'}://localhost:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        # A client that does not trust the certificate closes the connection.
        pass


class _Answer(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, ScriptedServer)
        path = self.rfile.readline().split()[1].decode()
        while self.rfile.readline().strip():
            pass
        self.server.asked.append(path)
        self.wfile.write(self.server.answers[path])


def document(body: bytes, status: bytes = b"200 OK", headers: bytes = b"") -> bytes:
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, headers, len(body), body)


def page(number: int, next: str = "") -> bytes:
    more = f', "next": "{next}"' if next else ""
    return document(b'{"states": [{"mode": "none", "monotonic": %d}]%s}' % (number, more.encode()))


class ScriptedServerTests(unittest.TestCase):
    def serve(self, answers: dict[str, bytes], tls: ssl.SSLContext | None = None) -> ScriptedServer:
        server = ScriptedServer(answers, tls)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def test_a_history_of_several_pages_is_one_iteration(self) -> None:
        first = "/history?from=0&every=0"
        server = self.serve({first: page(1, "/history?from=7"), "/history?from=7": page(2, "/history?from=9"), "/history?from=9": page(3)})
        history = Hub(server.url).history(0, every=0)
        self.assertEqual(next(history).monotonic, 1)
        # No later page has been requested so far.
        self.assertEqual(server.asked, [first])
        self.assertEqual([state.monotonic for state in history], [2, 3])

        async def states() -> list[State]:
            return [state async for state in AsyncHub(server.url).history(0, every=0)]

        self.assertEqual([state.monotonic for state in asyncio.run(states())], [1, 2, 3])

    def test_a_stream_that_ends_gives_its_last_values_and_is_tried_again(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        event = b'data: {"mode": "none", "monotonic": 1}\n\n'
        stream = head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(event), event)
        for end in (stream, stream.removesuffix(b"0\r\n\r\n")):
            server = self.serve({"/events": end})
            with self.assertLogs("sensorhub_client", "WARNING") as logs, Hub(server.url).states() as states:
                self.assertEqual([states.next().monotonic for _ in range(2)], [1, 1])
            self.assertRegex(logs.output[0], "closed the connection; .*; trying again")
            self.assertEqual(server.asked, ["/events", "/events"])
            with Hub(server.url, reconnect=False).states() as states:
                states.next()
                self.assertRaises(HubUnavailable, states.next)

            async def again() -> None:
                async with AsyncHub(server.url).states() as states:  # noqa: B023
                    for _ in range(2):
                        await states.next()

            with self.assertLogs("sensorhub_client", "WARNING"):
                asyncio.run(again())

    def test_a_busy_hub_says_when_to_try_again(self) -> None:
        server = self.serve({"/devices": document(b"", b"503 Busy", b"Retry-After: 10\r\n")})
        with self.assertRaises(HubBusy) as caught:
            Hub(server.url).devices()
        self.assertEqual(caught.exception.retry_after, 10)

    def test_a_truncated_answer_is_an_error(self) -> None:
        server = self.serve({"/devices": document(b'{"devices": []}')[:-1], "/state": b""})
        self.assertRaises(ProtocolError, Hub(server.url).devices)
        self.assertRaises(HubUnavailable, Hub(server.url).last_state)

    @unittest.skipUnless(shutil.which("openssl"), "openssl makes the certificate")
    def test_tls(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = Path(folder, "key"), Path(folder, "certificate")
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                 "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
                check=True, capture_output=True,
            )  # fmt: skip
            own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            own.load_cert_chain(certificate, key)
            trusting = ssl.create_default_context(cafile=str(certificate))
        # More than one record of TLS.
        title = b"x" * 100_000
        body = b'{"devices": [], "title": "%s"}' % title
        event = b'data: {"mode": "none", "monotonic": 1, "title": "%s"}\n\n' % title
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        server = self.serve({"/devices": document(body), "/events": head + event}, own)
        self.assertEqual(Hub(server.url, tls=trusting).devices(), ())
        self.assertEqual(next(Hub(server.url, tls=trusting).states()).extra, {"title": title.decode()})
        with self.assertRaisesRegex(AccessDenied, "is not trusted .*self-signed.*; pass tls="):
            Hub(server.url).devices()

        async def ask() -> None:
            self.assertEqual(await AsyncHub(server.url, tls=trusting).devices(), ())
            self.assertEqual((await anext(AsyncHub(server.url, tls=trusting).states())).extra, {"title": title.decode()})
            with self.assertRaisesRegex(AccessDenied, "is not trusted"):
                await AsyncHub(server.url).devices()

        asyncio.run(ask(), debug=True)
