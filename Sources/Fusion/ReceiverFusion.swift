/// What a receiver with inertial sensors of its own makes of them.
public enum ReceiverFusion: String, CaseIterable, Sendable {
  /// It finds out how it is mounted and what its sensors are worth.
  case initializing
  /// They are part of its solution.
  case fusing
  /// Not at present, as what they say does not fit.
  case suspended
  /// Not until it is started anew.
  case disabled
}
