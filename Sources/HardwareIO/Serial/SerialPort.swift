/// A serial line to a receiver, opened for exclusive use, or a network connection or an I2C bus that takes its place.
public protocol SerialPort: Sendable {
  /// The name to show, for example `/dev/ttyAMA0`.
  var name: String { get }
  /// The file descriptor for `poll`. It is readable when bytes wait or the line has hung up.
  var fileDescriptor: Int32 { get }

  /// Reads the bytes that have arrived, without blocking. Returns 0 if there are none.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int
  func write(_ bytes: [UInt8]) throws(HardwareError)
  /// Writes as many bytes as the line accepts without blocking, and returns their number.
  func writeNow(_ bytes: ArraySlice<UInt8>) throws(HardwareError) -> Int
  /// The number of written bytes that have not been sent yet; 0 if unknown.
  var unsentCount: Int { get }
  func setSpeed(_ speed: BaudRate) throws(HardwareError)
  /// Whether the line has a baud rate that must match the receiver's. A network connection has none.
  var hasSpeed: Bool { get }
  /// The longest time for which a working receiver sends nothing.
  var longestSilence: Duration { get }
  /// The number of transfers that failed; 0 for a line that cannot tell.
  var errorCount: Int { get }
  /// The number of bytes that have arrived and that `read` left out, because they are not the receiver's; 0 for a line
  /// that only the receiver sends on.
  var leftOutCount: Int { get }
  /// Tells a port that has to ask for bytes how often the receiver reports; `nil` if this is unknown.
  func expectReports(every period: Duration?)
  /// Closes the line. This also happens when the last reference is released.
  func close()
}

extension SerialPort {
  public var hasSpeed: Bool { true }
  /// Receivers report at least once a second, or once in five seconds at the lowest rate.
  public var longestSilence: Duration { .seconds(10) }
  public var errorCount: Int { 0 }
  public var leftOutCount: Int { 0 }
  public func expectReports(every period: Duration?) {}
}

/// The baud rates that receivers use, in bits per second.
public enum BaudRate: Int, CaseIterable, Sendable {
  case b4800 = 4800
  case b9600 = 9600
  case b19200 = 19200
  case b38400 = 38400
  case b57600 = 57600
  case b115200 = 115_200
  case b230400 = 230_400
  case b460800 = 460_800
  case b921600 = 921_600
}

extension BaudRate {
  /// Returns the time to send a number of bytes, each with its start and stop bit.
  public func time(for byteCount: Int) -> Duration {
    .nanoseconds(Int64(10 * byteCount) * 1_000_000_000 / Int64(rawValue))
  }
}

/// The names of serial ports. Finds names that stay the same when other devices are plugged in.
public enum SerialPortName {
  /// Whether the port in a board file is a tty, whose speed must match the receiver's.
  public static func hasSpeed(_ port: String) -> Bool {
    !NetworkSource.isMeant(by: port) && !GNSSDevice.isMeant(by: port) && !ModemPortName.isMeant(by: port)
      && I2CPortName(port) == nil
  }

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

/// A serial port that a receiver needs, but on which the kernel prints messages or a login waits.
public struct SerialConsole: Equatable, Sendable {
  /// The name of the tty, for example `ttyS0`.
  public let tty: String
  /// Whether the kernel prints messages on the port, now or according to its command line.
  public let hasMessages: Bool
  /// The systemd unit that waits for a login on the port; `nil` if there is none.
  public let login: String?
  /// Whether the login exists only because the port is a kernel console. Such a login returns with each boot.
  private let isLoginOfKernel: Bool
  private let hasRaspiConfig: Bool

  /// Returns `nil` if the port is free for a receiver or does not exist.
  ///
  /// - Parameter port: `/dev/ttyS0`, or a link to it
  public init?(port: String, on machine: MachineFiles) {
    guard let tty = SerialConsole.tty(port, on: machine) else { return nil }
    self.tty = tty
    hasMessages = SerialConsole.printed(on: machine).contains(tty)
    let unit = "serial-getty@\(tty).service"
    let enabled = ["/etc/systemd/system", "/run/systemd/generator"].filter { folder in
      machine.names(in: "\(folder)/getty.target.wants").contains(unit)
    }
    let isMasked = ["/etc", "/run"].contains { machine.link("\($0)/systemd/system/\(unit)") == "/dev/null" }
    login = enabled.isEmpty || isMasked ? nil : unit
    isLoginOfKernel = enabled.allSatisfy { $0.hasPrefix("/run") }
    hasRaspiConfig = machine.hasRaspiConfig
    if !hasMessages, login == nil { return nil }
  }

  private static func tty(_ port: String, on machine: MachineFiles) -> String? {
    guard let path = machine.resolved(port), path.hasPrefix("/dev/tty") else { return nil }
    return path.split(separator: "/").last.map(String.init)
  }

  /// Returns the kernel's consoles: the consoles in use, and the consoles on the kernel's command line.
  private static func printed(on machine: MachineFiles) -> [String] {
    let lines = (machine.bytes(of: "/proc/consoles") ?? []).split(separator: UInt8(ascii: "\n"))
    let present = lines.map { String(decoding: $0.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self) }
    let wanted = machine.words(of: "/proc/cmdline").filter { $0.hasPrefix("console=") }.map {
      String($0.dropFirst("console=".count).prefix { $0 != "," })
    }
    // The service may not read these two files. It may read this one, which has the consoles in use.
    let inUse = machine.words(of: "/sys/class/tty/console/active")
    return present + inUse + wanted.map { tty("/dev/\($0)", on: machine) ?? $0 }
  }

  /// Commands that free the port for the receiver.
  public var nextStep: String {
    if hasRaspiConfig {
      return "sudo raspi-config nonint do_serial_cons 1 && sudo raspi-config nonint do_serial_hw 0 && sudo reboot"
    }
    // A login that a systemd generator created returns with each boot unless it is masked.
    let end = login.map { "sudo systemctl \(isLoginOfKernel ? "mask" : "disable") --now \($0)" }
    let quiet = "remove console=\(tty) from the kernel's command line and restart"
    return [end, hasMessages ? quiet : nil].compactMap { $0 }.joined(separator: "; then ")
  }
}

extension SerialConsole: CustomStringConvertible {
  /// A sentence such as `the kernel prints its messages on /dev/ttyS0, and serial-getty@ttyS0.service waits for a login
  /// there`.
  public var description: String {
    switch (hasMessages, login) {
    case (true, let login?): "the kernel prints its messages on /dev/\(tty), and \(login) waits for a login there"
    case (false, let login?): "\(login) waits on /dev/\(tty) for a login"
    case (_, nil): "the kernel prints its messages on /dev/\(tty)"
    }
  }
}
