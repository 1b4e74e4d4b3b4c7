"""Takes ModemManager's name on a test's own bus, and leaves calls without an answer.

The argument is how many modems it names. With 0 it does not even answer the question for them. The modems have no receiver. With
a second argument, "late", they have one, and the questions for the modems and their properties are answered after 8 s.
"""
import sys
import dbus, dbus.lowlevel
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.freedesktop.ModemManager1"
LOCATION = NAME + ".Modem.Location"
count, is_late = int(sys.argv[1]), "late" in sys.argv
VALUES = {
    "Capabilities": dbus.UInt32(7 if is_late else 1), "Enabled": dbus.UInt32(1), "SignalsLocation": dbus.Boolean(False),
    "GpsRefreshRate": dbus.UInt32(30),
}


def answer(connection, message, value, signature):
    reply = dbus.lowlevel.MethodReturnMessage(message)
    reply.append(value, signature=signature)
    GLib.timeout_add(8000 if is_late else 0, lambda: connection.send_message(reply) and False)


def receive(connection, message):
    if not isinstance(message, dbus.lowlevel.MethodCallMessage):
        return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
    print(message.get_member(), flush=True)
    if message.get_member() == "GetManagedObjects" and count:
        values = dbus.Dictionary({LOCATION: dbus.Dictionary(VALUES, signature="sv")}, signature="sa{sv}")
        modems = {dbus.ObjectPath(f"/org/freedesktop/ModemManager1/Modem/{number}"): values for number in range(count)}
        answer(connection, message, dbus.Dictionary(modems, signature="oa{sa{sv}}"), "a{oa{sa{sv}}}")
    elif message.get_member() == "Get" and is_late:
        answer(connection, message, VALUES[message.get_args_list()[1]], "v")
    # A call that no filter has handled gets an error as its answer.
    return dbus.lowlevel.HANDLER_RESULT_HANDLED


DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
bus.add_message_filter(receive)
bus.request_name(NAME)
print("ready", flush=True)
GLib.MainLoop().run()
