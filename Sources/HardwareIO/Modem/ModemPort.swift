import CSystemd
import Glibc
import Guarding

/// The name of the port of a modem's receiver: `modem://` for the first modem with a receiver, or `modem://1` for a
/// modem by its number in ModemManager.
public struct ModemPortName: Equatable, Sendable {
  private static let prefix = "modem://"

  /// `nil` for the first modem with a receiver.
  public let number: Int32?

  /// Returns `nil` for the name of another port.
  public init?(_ name: String) {
    guard ModemPortName.isMeant(by: name) else { return nil }
    let digits = name.dropFirst(ModemPortName.prefix.count)
    guard let number = digits.isEmpty ? -1 : Int32(digits), digits.isEmpty || number >= 0 else { return nil }
    self.number = digits.isEmpty ? nil : number
  }

  /// Whether a port in a board file has the form of such a name. The number may be invalid.
  public static func isMeant(by name: String) -> Bool { name.hasPrefix(prefix) }
}

extension ModemPortName: CustomStringConvertible {
  public var description: String { ModemPortName.prefix + (number.map { "\($0)" } ?? "") }
}

/// The receiver of a modem, with the same interface as a serial port. ModemManager switches the receiver on while the
/// port is open, and passes on its sentences (org.freedesktop.ModemManager1.Modem.Location).
public final class ModemPort: SerialPort {
  /// Unchecked, and safe: the lock of `modem` guards every use of the pointer.
  private struct Handle: @unchecked Sendable {
    var pointer: OpaquePointer?
  }

  private let place: ModemPortName
  private let modem: Guarded<Handle>

  public init(_ place: ModemPortName) throws(HardwareError) {
    self.place = place
    var opened: OpaquePointer?
    var problem = [CChar](repeating: 0, count: 256)
    let result = csystemd_modem_open(&opened, place.number ?? -1, &problem, problem.count)
    modem = Guarded(Handle(pointer: opened))
    if result < 0 { throw ModemPort.error(-result, problem, place) }
  }

  /// Switches a modem's receiver off if a hub that was killed has left it on, unless another program uses it. Does
  /// nothing if there is no ModemManager or no such modem.
  static func makeSafe(_ place: ModemPortName) throws(HardwareError) {
    var problem = [CChar](repeating: 0, count: 256)
    let result = csystemd_modem_make_safe(place.number ?? -1, &problem, problem.count)
    if result == 0 || [ENOTCONN, ESRCH, ENODEV, EOPNOTSUPP].contains(-result) { return }
    throw ModemPort.error(-result, problem, place)
  }

  private static func error(_ errno: Int32, _ problem: [CChar], _ place: ModemPortName) -> HardwareError {
    let words = String(decoding: problem.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    switch errno {
    case ENOTCONN:
      return .unheard(
        "there is no system bus (D-Bus), through which ModemManager gives the receiver of \(place)",
        nextStep: "start both: sudo systemctl start dbus ModemManager")
    case ESRCH: return .unheard("ModemManager does not run", nextStep: "start it: sudo systemctl start ModemManager")
    case EBUSY:
      return .inUse(
        "the receiver of \(place), which a hub has switched on,", holder: nil,
        shownBy: "sudo ss -xap | grep @sensorhub")
    case ENODEV: return .unheard("there is no modem with a receiver at \(place)", nextStep: "list the modems: mmcli -L")
    case EOPNOTSUPP:
      return .unheard(
        "the modem at \(place) gives no sentences",
        nextStep: "see what it can: mmcli -m \(place.number ?? 0) --location-status")
    case EACCES, EPERM:
      return .unheard(
        "ModemManager refuses the receiver of \(place)",
        nextStep: "give the hub's user the two rights that 'Receivers of modems' in the reference names")
    default: return .system("the receiver of \(place)\(words.isEmpty ? "" : " (\(words))")", errno: errno)
    }
  }

  deinit { close() }

  public var name: String { "\(place)" }
  public var hasSpeed: Bool { false }
  /// ModemManager reports only what has changed, and a modem without a fix may repeat one sentence without a time. A
  /// cold start takes minutes, and a new session would begin the cold start again.
  public var longestSilence: Duration { .seconds(900) }
  public var fileDescriptor: Int32 { modem.withLock { $0.pointer.map { csystemd_modem_fd($0) } ?? -1 } }
  public func setSpeed(_ speed: BaudRate) {}
  public var unsentCount: Int { 0 }

  public func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int {
    let base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
    let count = modem.withLock { handle in
      handle.pointer.map { csystemd_modem_read($0, base, buffer.count) } ?? Int(-ENODEV)
    }
    if count < 0 { throw .disconnected(name) }
    return count
  }

  public func write(_ bytes: [UInt8]) throws(HardwareError) { _ = try writeNow(bytes[...]) }

  public func writeNow(_ bytes: ArraySlice<UInt8>) throws(HardwareError) -> Int {
    throw .unsupported("nothing can be sent to \(place)")
  }

  public func close() {
    let open = modem.withLock { handle in
      defer { handle.pointer = nil }
      return Handle(pointer: handle.pointer)
    }
    csystemd_modem_close(open.pointer)
  }
}
