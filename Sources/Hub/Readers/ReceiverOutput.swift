import Devices

/// A receiver's output for its clients: bytes as received, and the epochs that they form.
public enum ReceiverOutput: Sendable {
  /// Whole sentences, or whole messages of a binary protocol.
  case bytes(ReceivedBytes)
  case epoch(GNSSObservation)
}
