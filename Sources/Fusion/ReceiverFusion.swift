/// The state of the sensor fusion inside a receiver that has its own inertial sensors.
public enum ReceiverFusion: String, CaseIterable, Sendable {
  /// The receiver is determining its mounting and the quality of its sensors.
  case initializing
  /// The sensors contribute to the solution.
  case fusing
  /// Suspended, because the measurements of the sensors are inconsistent.
  case suspended
  /// Disabled until the receiver restarts.
  case disabled
}
