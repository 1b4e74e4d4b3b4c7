/// A part of the state that a client can request without the others. It determines which devices wake.
public enum StatePart: String, CaseIterable, Sendable {
  case position
  /// The height, as accurate as possible.
  case altitude
  /// Speed, course and climb.
  case motion
  case time
  case satellites
  /// Roll and pitch, and the heading if known.
  case attitude
  /// The direction in which the board points.
  case heading
  case rates
  case acceleration
  case magneticField
  /// The air's pressure and temperature, and its humidity if measured.
  case pressure
  /// Voltage and current from a supply monitor.
  case supply

  /// The fused kinds of devices on a board that measure this part.
  func kinds(on board: Board) -> Set<DeviceStatus.Kind> {
    let fused = board.fusedKinds
    let kinds: Set<DeviceStatus.Kind> =
      switch self {
      case .position, .motion, .time, .satellites: [.receiver]
      case .altitude: [.receiver, .barometer]
      case .attitude, .rates, .acceleration: [.imu]
      // Without a magnetometer, only motion shows the heading.
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

  /// - Parameter names: at least one name
  /// - Returns: `nil` if a name is unknown
  public init?(names: some Collection<some StringProtocol>) {
    let parts = names.compactMap { StatePart(rawValue: String($0)) }
    guard !parts.isEmpty, parts.count == names.count else { return nil }
    self.init(parts)
  }

  /// The kinds of devices that measure these parts.
  public func kinds(on board: Board) -> Set<DeviceStatus.Kind> {
    reduce(into: []) { $0.formUnion($1.kinds(on: board)) }
  }

  /// The names in the order of declaration, for example `attitude, rates`.
  public var names: String { StatePart.allCases.filter(contains).map(\.rawValue).joined(separator: ", ") }
}
