import os
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from sensorhub_client.errors import AccessDenied, HubUnavailable
from sensorhub_client.place import SocketPlace, Target, WebPlace, find


class PlaceTests(unittest.TestCase):
    def test_without_a_place_the_hub_of_this_machine_is_used(self) -> None:
        with mock.patch("os.getuid", return_value=1000), mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": "/run/user/1000"}):
            self.assertEqual(
                find(None, None, None),
                SocketPlace(("/run/user/1000/sensorhub/hub.sock", "/run/sensorhub/hub.sock"), checked=True),
            )
        with mock.patch("os.getuid", return_value=1000), mock.patch.dict(os.environ, clear=True):
            self.assertEqual(
                find(None, None, None), SocketPlace(("/tmp/sensorhub-1000/hub.sock", "/run/sensorhub/hub.sock"), checked=True)
            )
        with mock.patch("os.getuid", return_value=0):
            self.assertEqual(find(None, None, None), SocketPlace(("/run/sensorhub/hub.sock",), checked=True))

    def test_a_folder_that_others_can_change_is_not_trusted(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            own, system = Path(folder, "own"), Path(folder, "system")
            for place in (own, system):
                place.mkdir()
                Path(place, "hub.sock").touch()
            candidates = (f"{own}/hub.sock", f"{system}/hub.sock")
            self.assertEqual(SocketPlace(candidates, checked=True).path, candidates[0])
            own.chmod(0o777)
            self.assertEqual(SocketPlace(candidates).path, candidates[0])
            self.assertEqual(SocketPlace(candidates, checked=True).path, candidates[1])
            link = Path(folder, "link")
            link.symlink_to(system)
            for untrusted in (own, link):
                with self.assertRaisesRegex(AccessDenied, f"the folder {untrusted} is another user's.*ls -ld"):
                    SocketPlace((f"{untrusted}/hub.sock",), checked=True).path  # noqa: B018
            own.chmod(0o755)
            with mock.patch("os.lstat") as lstat:
                lstat.return_value = mock.Mock(st_mode=0o40755, st_uid=os.getuid() + 7)
                with self.assertRaises(AccessDenied):
                    SocketPlace(candidates, checked=True).path  # noqa: B018

    def test_a_socket_and_its_neighbour(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = SocketPlace((folder + "/nothing.sock", folder + "/hub.sock"))
            self.assertEqual(place.states.path, folder + "/nothing.sock")
            Path(folder, "hub.sock").touch()
            self.assertEqual((place.states.path, place.devices.path), (folder + "/hub.sock", folder + "/devices.sock"))
            self.assertEqual(find(Path(folder), None, None), SocketPlace((folder + "/hub.sock",)))

    def test_urls(self) -> None:
        place = find("http://boat.local:8080/hub/", "0123456789abcdef", None)
        assert isinstance(place, WebPlace)
        self.assertEqual((place.target, place.prefix), (Target(host="boat.local", port=8080), "/hub"))
        self.assertEqual((place.authority, place.secret()), ("boat.local:8080", "0123456789abcdef"))
        place = find("https://[::1]", None, None)
        assert isinstance(place, WebPlace)
        self.assertEqual((place.target.host, place.target.port, str(place.target)), ("::1", 443, "[::1]:443"))
        self.assertIsNotNone(place.target.tls)

    def test_an_invalid_place_is_refused(self) -> None:
        wrong: list[tuple[Any, Any, str]] = [
            ("localhost:8080", None, "write 'http://localhost:8080'"),
            ("ftp://localhost", None, "neither http:// nor https://"),
            ("http://", None, "names no host"),
            ("http://me:secret@host", None, "pass token="),
            ("http://host/?token=secret", None, "has a query"),
            ("/run/sensorhub/hub.sock", "token", "is for a hub with a URL"),
        ]
        for place, token, message in wrong:
            with self.assertRaisesRegex(ValueError, message):
                find(place, token, None)

    def test_a_token_in_a_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "token")
            place = find("http://host", file, None)
            assert isinstance(place, WebPlace)
            with self.assertRaisesRegex(AccessDenied, "cannot be read from .*token: No such file"):
                place.secret()
            file.write_text("0123456789abcdef\n")
            self.assertEqual(place.secret(), "0123456789abcdef")
            file.write_text("two\nlines")
            with self.assertRaisesRegex(AccessDenied, "not one line"):
                place.secret()

    def test_failures_say_what_to_do(self) -> None:
        local, web = Target(path="/run/hub.sock"), Target(host="boat", port=80)
        cases: list[tuple[Target, OSError, type[Exception], str]] = [
            (local, FileNotFoundError(2, "x"), HubUnavailable, "no hub answers at /run/hub.sock; start it"),
            (local, PermissionError(13, "x"), AccessDenied, "no permission"),
            (web, ConnectionRefusedError(111, "x"), HubUnavailable, "no hub answers at boat:80; .*'http: {}'"),
            (web, TimeoutError(), HubUnavailable, "no connection to boat:80: TimeoutError"),
        ]
        for target, error, kind, message in cases:
            self.assertIsInstance(target.unreachable(error), kind)
            self.assertRegex(str(target.unreachable(error)), message)
