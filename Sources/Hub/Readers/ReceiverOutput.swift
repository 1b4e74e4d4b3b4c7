import Devices

/// The output of a receiver for its clients: the received bytes, and the epochs that they form.
public enum ReceiverOutput: Sendable {
  /// Complete sentences, or complete messages of a binary protocol.
  case bytes(ReceivedBytes)
  case epoch(GNSSObservation)
}
