/// The kind of a solution, numbered as u-blox does.
public enum NavigationFixType: UInt8, Equatable, Sendable {
  case none = 0
  case deadReckoning = 1
  case twoDimensional = 2
  case threeDimensional = 3
  case combined = 4
  /// The position was surveyed, and is an input of the receiver.
  case timeOnly = 5

  /// An unknown kind counts as no fix.
  init(_ value: UInt8) { self = NavigationFixType(rawValue: value) ?? .none }
}
