/// Names of serial ports that stay the same when something else is plugged in.
public enum SerialPortName {
  /// The port between a Raspberry Pi 5's sockets for screens, which `/dev/serial0` leads to there. On others it is the header's.
  public static let debugConnector = "/dev/ttyAMA10"

  /// What the UART on a Raspberry Pi's header is called, once it is enabled.
  public static func ofHeader(on machine: MachineFiles) -> String {
    machine.resolved("/dev/serial0") == debugConnector ? "/dev/ttyAMA0" : "/dev/serial0"
  }

  /// The name to write into a board file: one that udev gives, or the port's own where there is none.
  ///
  /// A USB adapter goes by the socket that it is plugged into: many have no number of their own to tell them apart.
  public static func lasting(for port: String, on machine: MachineFiles) -> String {
    let adapters = machine.names(in: "/dev/serial/by-path").map { "/dev/serial/by-path/\($0)" }
    // Newer systems name each adapter twice: for the version of USB, and for whichever.
    let sockets = adapters.filter { $0.contains("-usb-") } + adapters
    let candidates = ["/dev/sensorhub/gps", ofHeader(on: machine)] + sockets
    return candidates.first { machine.resolved($0) == port } ?? port
  }
}
