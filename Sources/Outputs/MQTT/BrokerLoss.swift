/// Why a connection to a broker is over, or could not be made. The description is for the user.
public struct BrokerLoss: Equatable, Sendable, CustomStringConvertible {
  public let reason: String
  /// The next step for the user, if known.
  public let nextStep: String?

  public var description: String { nextStep.map { "\(reason); \($0)" } ?? reason }
}
