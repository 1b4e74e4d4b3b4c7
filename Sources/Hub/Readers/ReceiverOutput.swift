import Devices

/// What a receiver gives its clients: bytes as they came, and the epochs that they make.
public enum ReceiverOutput: Sendable {
  /// Whole sentences, or whole messages of a binary protocol.
  case bytes(ReceivedBytes)
  case epoch(GNSSObservation)
}
