/// What somebody wanted of a hub at the time that is played.
public struct ReplayDemand: Equatable, Sendable {
  /// The IDs of the devices that were at work: also those that lingered, and went on with what they had learnt.
  public internal(set) var supplied: Set<String> = []
  /// The IDs of the devices that somebody listened to.
  public internal(set) var devices: Set<String> = []
  /// The number of the run in which the state was fused; `nil` where nobody had it fused. With each run the estimate began anew.
  public internal(set) var run: Int?

  public init() {}
}
