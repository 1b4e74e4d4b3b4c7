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
  }

  var areTold = false
  private var receivers: [String: Receiver] = [:]

  /// Returns the epoch that is to be fused; one that has not come yet is awaited.
  mutating func take(_ at: MonotonicInstant, of id: String) -> GNSSObservation? {
    var receiver = receivers[id] ?? Receiver()
    defer { receivers[id] = receiver }
    if let observation = receiver.epochs.last(where: { $0.at == at }) { return observation }
    receiver.awaited.append(at)
    if receiver.awaited.count > DecodedEpochs.mostKept { receiver.awaited.removeFirst() }
    return nil
  }

  /// Takes one that was decoded; returns whether it is awaited.
  mutating func note(_ observation: GNSSObservation, of id: String) -> Bool {
    var receiver = receivers[id] ?? Receiver()
    defer { receivers[id] = receiver }
    receiver.epochs.append(observation)
    if receiver.epochs.count > DecodedEpochs.mostKept { receiver.epochs.removeFirst() }
    guard let index = receiver.awaited.firstIndex(of: observation.at) else { return false }
    receiver.awaited.remove(at: index)
    return true
  }
}
