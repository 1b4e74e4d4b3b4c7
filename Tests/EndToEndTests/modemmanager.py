"""Takes the place of ModemManager on a test's own bus: one modem without a receiver and one with a receiver."""
import sys
import dbus, dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.freedesktop.ModemManager1"
LOCATION = NAME + ".Modem.Location"
ROOT = "/org/freedesktop/ModemManager1"
PROPERTIES = "org.freedesktop.DBus.Properties"
MANAGER = "org.freedesktop.DBus.ObjectManager"


def sentence(body):
    sum = 0
    for byte in body.encode():
        sum ^= byte
    return f"${body}*{sum:02X}"


class Modem(dbus.service.Object):
    def __init__(self, bus, number, able):
        self.path = f"{ROOT}/Modem/{number}"
        self.values = {
            "Capabilities": dbus.UInt32(able), "Enabled": dbus.UInt32(1), "SignalsLocation": dbus.Boolean(False),
            "GpsRefreshRate": dbus.UInt32(30),
        }
        self.traces = {}
        self.second = 0
        super().__init__(bus, self.path)

    @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        return self.values[name]

    @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

    @dbus.service.method(LOCATION, in_signature="ub")
    def Setup(self, sources, signals):
        print(f"setup {sources} {bool(signals)}", flush=True)
        self.values["Enabled"] = dbus.UInt32(sources)
        self.values["SignalsLocation"] = dbus.Boolean(signals)

    @dbus.service.method(LOCATION, in_signature="u")
    def SetGpsRefreshRate(self, seconds):
        print(f"refresh {seconds}", flush=True)
        self.values["GpsRefreshRate"] = dbus.UInt32(seconds)

    def tick(self):
        if not self.values["Enabled"] & 4:
            return True
        self.second += 1
        time = f"1200{self.second % 60:02d}.00"
        for kind, body in [
            ("RMC", f"GPRMC,{time},A,4717.1137,N,00833.9160,E,0.0,0.0,060726,,,A"),
            ("GGA", f"GPGGA,{time},4717.1137,N,00833.9160,E,1,08,1.0,499.6,M,48.0,M,,"),
            ("GSA", "GPGSA,A,3,23,29,07,08,09,18,26,28,,,,,1.94,1.18,1.54"),
        ]:
            self.traces[kind] = sentence(body)
            if self.values["GpsRefreshRate"] == 0 and self.values["SignalsLocation"]:
                location = dbus.Dictionary(
                    {dbus.UInt32(1): "262,02,FFFE,D5B3,D5B3", dbus.UInt32(4): "\r\n".join(self.traces.values())},
                    signature="uv")
                self.PropertiesChanged(LOCATION, {"Location": location, "SignalsLocation": True}, [])
        return True


class Manager(dbus.service.Object):
    def __init__(self, bus, modems):
        super().__init__(bus, ROOT)
        self.modems = modems

    @dbus.service.method(MANAGER, out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        return {dbus.ObjectPath(m.path): {LOCATION: dbus.Dictionary(m.values, signature="sv")} for m in self.modems}


DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
name = dbus.service.BusName(NAME, bus, do_not_queue=True)
modems = [Modem(bus, 0, 1), Modem(bus, 3, 7)]
manager = Manager(bus, modems)
GLib.timeout_add(200, modems[1].tick)
print("ready", flush=True)
GLib.MainLoop().run()
