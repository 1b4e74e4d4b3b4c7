/// Names of serial ports that stay the same when something else is plugged in.
public enum SerialPortName {
  /// The name to write into a board file: one that udev gives, or the port's own where there is none.
  ///
  /// A USB adapter goes by the socket that it is plugged into: many have no number of their own to tell them apart.
  public static func lasting(for port: String, on machine: MachineFiles) -> String {
    let adapters = machine.names(in: "/dev/serial/by-path").map { "/dev/serial/by-path/\($0)" }
    // Newer systems name each adapter twice: for the version of USB, and for whichever.
    let sockets = adapters.filter { $0.contains("-usb-") } + adapters
    let candidates = ["/dev/sensorhub/gps", "/dev/serial0"] + sockets
    return candidates.first { machine.resolved($0) == port } ?? port
  }
}
