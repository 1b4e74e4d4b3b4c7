import Fusion
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing

/// The result of adding a fence.
struct AddedFenceOutcome: Sendable {
  var fence: AddedFence
  /// Whether the fence survives a restart of the hub.
  var isKept: Bool
}

extension HubHost {
  /// Adds a fence for a client. If the centre is the board's position, that position comes from the known state, or
  /// else a receiver is woken for it.
  ///
  /// - Parameter answer: called once, with the fence or with a refusal. The call is on the caller's thread if the order
  ///   needs no position, otherwise on another one. The caller's thread must be one that may wait for the disk
  /// - Returns: a lease, or `nil` if `answer` was already called; if you drop the lease, a fence whose position is
  ///   still unknown is not added
  func add(
    _ order: FenceOrder, as holder: Holder,
    answer: @escaping @Sendable (_ outcome: AddedFenceOutcome?, _ refusal: FenceRefusal?) -> Void
  ) -> Subscription? {
    do throws(FenceRefusal) {
      guard try order.isHere() else {
        return add(order.fence(about: Coordinate(latitudeDegrees: 0, longitudeDegrees: 0)), answer)
      }
      // A request that will be refused must wake no receiver.
      try fences.requirePossible(order.fence(about: Coordinate(latitudeDegrees: 0, longitudeDegrees: 0)))
      if lackOfFixes != nil { throw .noReceiver }
    } catch {
      answer(nil, error)
      return nil
    }
    let isAnswered = Guarded(false)
    return hub.current(order.position).subscribe(
      as: holder,
      receiveValue: { [self] state in
        isAnswered.withLock { $0 = true }
        let place = order.place(in: state)
        // Adding the fence waits for the disk, so it must not run on this thread, which may read a device.
        let error = DetachedThread.start("fence") { [self] in
          if let place { _ = add(order.fence(about: place), answer) } else { answer(nil, .noPosition) }
        }
        // Without a thread there would be no answer, and the client would wait for ever.
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
  /// The maximum age of a known position that is used if no new one arrives in time.
  private static let oldest = Duration.seconds(15)

  /// The board's position, if it is recent and accurate enough.
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
  /// Writes the answer about a fence that was added or removed.
  ///
  /// - Parameters:
  ///   - isKept: whether the change survives a restart of the hub
  ///   - isRemoved: whether the fence was removed
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
