/// Names of serial ports that stay the same when something else is plugged in.
public enum SerialPortName {
  /// The port between a Raspberry Pi 5's sockets for screens, which `/dev/serial0` leads to there. On others it is the header's.
  public static let debugConnector = "/dev/ttyAMA10"

  /// The name of the UART on a Raspberry Pi's header, once it is enabled.
  public static func ofHeader(on machine: MachineFiles) -> String {
    machine.resolved("/dev/serial0") == debugConnector ? "/dev/ttyAMA0" : "/dev/serial0"
  }

  /// The name to write into a board file: one from udev, or the port's own if there is none.
  ///
  /// A USB adapter is named after its socket: many adapters have no serial number that would distinguish them.
  public static func lasting(for port: String, on machine: MachineFiles) -> String {
    let adapters = machine.names(in: "/dev/serial/by-path").map { "/dev/serial/by-path/\($0)" }
    // Newer systems name each adapter twice: for the version of USB, and for whichever.
    let sockets = adapters.filter { $0.contains("-usb-") } + adapters
    let candidates = ["/dev/sensorhub/gps", ofHeader(on: machine)] + sockets
    return candidates.first { machine.resolved($0) == port } ?? port
  }
}
