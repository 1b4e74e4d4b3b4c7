/// Finds names of serial ports that stay the same when other devices are plugged in.
public enum SerialPortName {
  /// The debug port between the two display connectors of a Raspberry Pi 5. On that model the link `/dev/serial0` leads
  /// to this port, and on other models to the header's port.
  public static let debugConnector = "/dev/ttyAMA10"

  /// Returns the name of the UART on a Raspberry Pi's header, once it is enabled.
  public static func ofHeader(on machine: MachineFiles) -> String {
    machine.resolved("/dev/serial0") == debugConnector ? "/dev/ttyAMA0" : "/dev/serial0"
  }

  /// Returns the name to write into a board file: a stable link from udev, or the port's own name if there is none.
  ///
  /// A USB adapter is named after its socket, because many adapters have no serial number to distinguish them.
  public static func lasting(for port: String, on machine: MachineFiles) -> String {
    let adapters = machine.names(in: "/dev/serial/by-path").map { "/dev/serial/by-path/\($0)" }
    // Newer systems make two links for each adapter, one with the USB version in its name and one without.
    let sockets = adapters.filter { $0.contains("-usb-") } + adapters
    let candidates = ["/dev/sensorhub/gps", ofHeader(on: machine)] + sockets
    return candidates.first { machine.resolved($0) == port } ?? port
  }
}
