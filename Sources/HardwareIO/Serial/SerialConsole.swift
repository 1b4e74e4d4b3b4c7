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
    return present + wanted.map { tty("/dev/\($0)", on: machine) ?? $0 }
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
