import Fusion
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing

/// A fence that was added.
struct AddedFenceOutcome: Sendable {
  var fence: AddedFence
  /// It is there after a restart of the hub too.
  var isKept: Bool
}

extension HubHost {
  /// Adds a fence as a client wants it. If it is to be about where the board is, that is found out first: of what is known by now, or of
  /// a receiver that is woken for it.
  ///
  /// - Parameter answer: called once, on a thread that may wait
  /// - Returns: drop it, and a fence whose place is not known yet is not added
  func add(
    _ order: FenceOrder, as holder: Holder,
    answer: @escaping @Sendable (_ outcome: AddedFenceOutcome?, _ refusal: FenceRefusal?) -> Void
  ) -> Subscription? {
    do throws(FenceRefusal) {
      guard try order.isHere() else {
        return add(order.fence(about: Coordinate(latitudeDegrees: 0, longitudeDegrees: 0)), answer)
      }
      // Wrong words must have woken nothing.
      _ = try order.fence(about: Coordinate(latitudeDegrees: 0, longitudeDegrees: 0)).settings()
      if lackOfFixes != nil { throw .noReceiver }
    } catch {
      answer(nil, error)
      return nil
    }
    let isAnswered = Guarded(false)
    return current(order.position).subscribe(
      as: holder,
      receiveValue: { [self] state in
        isAnswered.withLock { $0 = true }
        let place = order.place(in: state)
        // Not on a thread that reads a device: the disk is waited for.
        let error = DetachedThread.start("fence") { [self] in
          if let place { _ = add(order.fence(about: place), answer) } else { answer(nil, .noPosition) }
        }
        // Without a thread no one would answer, and the client would wait for ever.
        if error != 0 { answer(nil, .noPosition) }
      }, receiveCompletion: { _ in if !isAnswered.withLock({ $0 }) { answer(nil, .noPosition) } })
  }

  private func add(
    _ fence: AddedFence, _ answer: (_ outcome: AddedFenceOutcome?, _ refusal: FenceRefusal?) -> Void
  ) -> Subscription? {
    do throws(FenceRefusal) {
      let isKept = try fences.add(fence)
      answer(AddedFenceOutcome(fence: fence, isKept: isKept), nil)
    } catch {
      answer(nil, error)
    }
    return nil
  }
}

extension FenceOrder {
  /// How much older than the state a position may be, if time ran out before there was a new one.
  private static let oldest = Duration.seconds(15)

  /// Where the board is, if that is known well enough.
  fileprivate func place(in state: FusedState) -> Coordinate? {
    guard let position = state.position, state.at - position.at <= FenceOrder.oldest,
      let sigma = position.value.horizontalSigmaMetres, let limit = self.position.accuracyMetres,
      Confidence.radial * sigma <= limit
    else { return nil }
    return Coordinate(
      latitudeDegrees: position.value.latitudeDegrees, longitudeDegrees: position.value.longitudeDegrees)
  }
}

extension FenceReport {
  /// A fence that was added, or removed.
  ///
  /// - Parameters:
  ///   - isKept: it will be so after a restart of the hub too
  ///   - isRemoved: it was removed
  static func write(name: String, isRemoved: Bool, isKept: Bool, _ fence: AddedFence?, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "FENCE")
    json.member("name", name)
    json.member(isRemoved ? "removed" : "added", true)
    json.member("kept", isKept)
    if let fence {
      json.key("circle")
      json.beginArray()
      json.number(fence.latitude, decimals: 7)
      json.number(fence.longitude, decimals: 7)
      json.number(fence.radiusMetres, decimals: 2)
      json.endArray()
    }
    json.endObject()
    json.endLine()
  }
}
