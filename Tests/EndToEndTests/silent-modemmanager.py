"""Takes ModemManager's name on a test's own bus, and leaves calls without an answer.

The argument is how many modems it names. With 0 it does not even answer the question for them.
"""
import sys
import dbus, dbus.lowlevel
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.freedesktop.ModemManager1"
LOCATION = NAME + ".Modem.Location"
count = int(sys.argv[1])


def receive(connection, message):
    if not isinstance(message, dbus.lowlevel.MethodCallMessage):
        return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
    print(message.get_member(), flush=True)
    if message.get_member() == "GetManagedObjects" and count:
        values = dbus.Dictionary({LOCATION: dbus.Dictionary({}, signature="sv")}, signature="sa{sv}")
        modems = {dbus.ObjectPath(f"/org/freedesktop/ModemManager1/Modem/{number}"): values for number in range(count)}
        answer = dbus.lowlevel.MethodReturnMessage(message)
        answer.append(dbus.Dictionary(modems, signature="oa{sa{sv}}"), signature="a{oa{sa{sv}}}")
        connection.send_message(answer)
    # A call that no filter has handled gets an error as its answer.
    return dbus.lowlevel.HANDLER_RESULT_HANDLED


DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
bus.add_message_filter(receive)
bus.request_name(NAME)
print("ready", flush=True)
GLib.MainLoop().run()
