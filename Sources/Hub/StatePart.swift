/// A part of the state that a client can request without the others: it decides which devices are woken.
public enum StatePart: String, CaseIterable, Sendable {
  case position
  /// The height as well as it can be known.
  case altitude
  /// Speed, track and climb.
  case motion
  case time
  case satellites
  /// Roll and pitch; and the heading, if it is known.
  case attitude
  /// Where the board points.
  case heading
  case rates
  case acceleration
  case magneticField
  /// The air's pressure and temperature, and its humidity if it is measured.
  case pressure
  /// Voltage and current from a supply monitor.
  case supply

  /// What measures it, of the kinds that a board has fused.
  func kinds(on board: Board) -> Set<DeviceStatus.Kind> {
    let fused = board.fusedKinds
    let kinds: Set<DeviceStatus.Kind> =
      switch self {
      case .position, .motion, .time, .satellites: [.receiver]
      case .altitude: [.receiver, .barometer]
      case .attitude, .rates, .acceleration: [.imu]
      // Without a magnetometer only motion tells.
      case .heading: fused.contains(.magnetometer) ? [.imu, .magnetometer] : [.imu, .receiver]
      case .magneticField: [.magnetometer]
      case .pressure: [.barometer]
      case .supply: [.supplyMonitor]
      }
    return kinds.intersection(fused)
  }
}

extension Set<StatePart> {
  public static let all = Set(StatePart.allCases)

  /// - Parameter names: at least one; an unknown one makes the result `nil`
  public init?(names: some Collection<some StringProtocol>) {
    let parts = names.compactMap { StatePart(rawValue: String($0)) }
    guard !parts.isEmpty, parts.count == names.count else { return nil }
    self.init(parts)
  }

  /// The kinds of devices that measure them.
  public func kinds(on board: Board) -> Set<DeviceStatus.Kind> {
    reduce(into: []) { $0.formUnion($1.kinds(on: board)) }
  }

  /// `attitude, rates`, in the order in which they are declared.
  public var names: String { StatePart.allCases.filter(contains).map(\.rawValue).joined(separator: ", ") }
}
