import Devices
import MonotonicTime

/// An epoch of a receiver's that is to be fused.
struct ReplayedEpoch: Sendable {
  var id: String
  var observation: GNSSObservation
}

/// The last epochs of each receiver that is played, until it is told that they were fused.
struct DecodedEpochs: Sendable {
  /// Several come in one read, and the last one may be told again, minutes later.
  private static let mostKept = 32

  private struct Receiver: Sendable {
    var epochs: [GNSSObservation] = []
    /// Told, and not decoded so far.
    var awaited: [MonotonicInstant] = []

    mutating func expect(_ at: MonotonicInstant) {
      awaited.append(at)
      if awaited.count > DecodedEpochs.mostKept { awaited.removeFirst() }
    }

    mutating func note(_ observation: GNSSObservation) -> Bool {
      epochs.append(observation)
      if epochs.count > DecodedEpochs.mostKept { epochs.removeFirst() }
      guard let index = awaited.firstIndex(of: observation.at) else { return false }
      awaited.remove(at: index)
      return true
    }
  }

  var areTold = false
  private var receivers: [String: Receiver] = [:]

  /// Returns the epoch that is to be fused; one that has not come yet is awaited.
  mutating func take(_ at: MonotonicInstant, of id: String) -> GNSSObservation? {
    if let observation = receivers[id]?.epochs.last(where: { $0.at == at }) { return observation }
    receivers[id, default: Receiver()].expect(at)
    return nil
  }

  /// Takes one that was decoded; returns whether it is awaited.
  mutating func note(_ observation: GNSSObservation, of id: String) -> Bool {
    receivers[id, default: Receiver()].note(observation)
  }
}
