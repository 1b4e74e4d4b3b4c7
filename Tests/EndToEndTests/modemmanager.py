"""Takes the place of ModemManager on a test's own bus: one modem without a receiver and one with a receiver.

With the argument "cold" the receiver has no fix and no time for 12 s, and repeats one sentence, which ModemManager reports
once. With "late" it answers the call that switches the receiver on only after 12 s. With "slow" it needs 8 s for the
first call that switches the receiver off. With "forge" the program takes no name, and sends every program on the bus
signals that only ModemManager and the bus may send. With "geoclue" it uses the receiver as GeoClue does.
"""
import sys
import dbus, dbus.lowlevel, dbus.service
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
        self.void_ticks = 60 if "cold" in sys.argv else 0
        super().__init__(bus, self.path)

    @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        return self.values[name]

    @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

    @dbus.service.method(LOCATION, in_signature="ub", async_callbacks=("answer", "fail"))
    def Setup(self, sources, signals, answer, fail):
        print(f"setup {sources} {bool(signals)}", flush=True)

        def finish():
            self.values["Enabled"] = dbus.UInt32(sources)
            self.values["SignalsLocation"] = dbus.Boolean(signals)
            print(f"enabled {sources}", flush=True)
            answer()
            return False

        if "late" in sys.argv and sources & 4:
            sys.argv.remove("late")
            GLib.timeout_add(12_000, finish)
        elif "slow" in sys.argv and not sources & 4:
            sys.argv.remove("slow")
            GLib.timeout_add(8_000, finish)
        else:
            finish()

    @dbus.service.method(LOCATION, in_signature="u")
    def SetGpsRefreshRate(self, seconds):
        print(f"refresh {seconds}", flush=True)
        self.values["GpsRefreshRate"] = dbus.UInt32(seconds)

    def tick(self):
        if not self.values["Enabled"] & 4:
            return True
        if self.void_ticks:
            self.void_ticks -= 1
            if not self.traces:
                self.traces = {"RMC": sentence("GPRMC,,V,,,,,,,,,,N")}
                self.report()
            return True
        self.second += 1
        time = f"1200{self.second % 60:02d}.00"
        for kind, body in [
            ("RMC", f"GPRMC,{time},A,4717.1137,N,00833.9160,E,0.0,0.0,060726,,,A"),
            ("GGA", f"GPGGA,{time},4717.1137,N,00833.9160,E,1,08,1.0,499.6,M,48.0,M,,"),
            ("GSA", "GPGSA,A,3,23,29,07,08,09,18,26,28,,,,,1.94,1.18,1.54"),
        ]:
            self.traces[kind] = sentence(body)
            self.report()
        return True

    def report(self):
        if self.values["GpsRefreshRate"] == 0 and self.values["SignalsLocation"]:
            location = dbus.Dictionary(
                {dbus.UInt32(1): "262,02,FFFE,D5B3,D5B3", dbus.UInt32(4): "\r\n".join(self.traces.values())},
                signature="uv")
            self.PropertiesChanged(LOCATION, {"Location": location, "SignalsLocation": True}, [])


class Manager(dbus.service.Object):
    def __init__(self, bus, modems):
        super().__init__(bus, ROOT)
        self.modems = modems

    @dbus.service.method(MANAGER, out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        return {dbus.ObjectPath(m.path): {LOCATION: dbus.Dictionary(m.values, signature="sv")} for m in self.modems}


def forge(bus):
    sentences = dbus.Dictionary({dbus.UInt32(4): sentence("GPRMC,130000.00,A,1000.0,N,01000.0,E,0.0,0.0,060726,,,A")}, signature="uv")
    signals = [
        (ROOT + "/Modem/3", PROPERTIES, "PropertiesChanged", "sa{sv}as",
         (LOCATION, dbus.Dictionary({"Location": sentences}, signature="sv"), dbus.Array([], signature="s"))),
        (ROOT, MANAGER, "InterfacesRemoved", "oas", (ROOT + "/Modem/3", [LOCATION])),
        ("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged", "sss", (NAME, ":1.0", "")),
    ]
    for name in bus.list_names():
        for path, interface, member, signature, values in signals if name.startswith(":") else []:
            message = dbus.lowlevel.SignalMessage(path, interface, member)
            message.set_destination(name)
            message.append(*values, signature=signature)
            bus.send_message(message)
    bus.flush()
    # The answer to a call shows that the bus has delivered the signals.
    bus.list_names()


if "forge" in sys.argv:
    forge(dbus.SystemBus())
    sys.exit()
DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
if "geoclue" in sys.argv:
    name = dbus.service.BusName("org.freedesktop.GeoClue2", bus, do_not_queue=True)
    receiver = dbus.Interface(bus.get_object(NAME, ROOT + "/Modem/3", introspect=False), LOCATION)
    receiver.SetGpsRefreshRate(dbus.UInt32(0))
    receiver.Setup(dbus.UInt32(5), True)
    print("ready", flush=True)
    GLib.MainLoop().run()
name = dbus.service.BusName(NAME, bus, do_not_queue=True)
modems = [Modem(bus, 0, 1), Modem(bus, 3, 7)]
manager = Manager(bus, modems)
GLib.timeout_add(200, modems[1].tick)
print("ready", flush=True)
GLib.MainLoop().run()
