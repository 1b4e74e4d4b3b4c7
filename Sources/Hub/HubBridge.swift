import Devices
import Guarding
import Publishing

/// Access to a receiver's line for clients that know its protocol better than the hub, such as u-center.
extension Hub {
  /// Passes on every byte that a receiver sends, as received, while other clients keep it awake. Wakes nothing.
  public func observeRawBytes(
    of id: String, as holder: Holder, _ receive: @escaping @Sendable ([UInt8]) -> Void
  ) -> Subscription {
    registry.holdLatest(by: { $0.receiverReader(id).map { ObjectIdentifier($0) } }, as: Holders(holder)) { devices in
      devices.receiverReader(id)?.forwardRawBytes(to: receive) ?? Subscription {}
    }
  }

  /// Gives a client the right to write to a receiver. While it has the right, the hub sends the receiver nothing of its
  /// own. The receiver gets the bytes while it is awake.
  ///
  /// - Parameters:
  ///   - name: the client, as it is shown
  ///   - hasRoom: called on the reader's thread when a client that had to wait may send again, and when none of its bytes
  ///     wait any more
  ///   - lostBytes: called when the client's bytes are dropped, because the receiver has taken none for three minutes
  public func claimBridge(
    to id: String, for name: String, hasRoom: @escaping @Sendable () -> Void,
    lostBytes: @escaping @Sendable () -> Void = {}
  ) -> BridgeClaim {
    guard let reader = registry.value.receiverReader(id), let bridge = reader.bridge else { return .missing }
    if let other = bridge.claim(for: name, hasRoom: hasRoom, lostBytes: lostBytes) { return .taken(by: other) }
    return .granted(BridgeWriter(name, to: reader.monitor, through: bridge))
  }

  /// Whether a client's right to write is for the receiver in service, and not for one of an earlier board.
  public func isInService(_ writer: BridgeWriter) -> Bool {
    registry.value.receiverReader(writer.device)?.bridge === writer.bridge
  }
}

/// The answer to a client that wants to write to a receiver.
public enum BridgeClaim: Sendable {
  case granted(BridgeWriter)
  /// Another client has the right to write.
  case taken(by: String)
  /// There is no such receiver, or it is a recorded one.
  case missing
}

/// The right of one client to write to a receiver. The receiver's status names the client until `end`.
public final class BridgeWriter: Sendable {
  /// The receiver's ID.
  public var device: String { monitor.id }
  fileprivate let bridge: ReceiverBridge
  private let monitor: DeviceMonitor
  private let isOver = Guarded(false)

  fileprivate init(_ name: String, to monitor: DeviceMonitor, through bridge: ReceiverBridge) {
    self.bridge = bridge
    self.monitor = monitor
    monitor.setWarning(
      about: .bridge, "\(name) writes to \(monitor.id) through the bridge; the hub sends it nothing in the meantime")
  }

  deinit { end() }

  /// Whether the maximum number of bytes waits for the receiver, and the client must wait too.
  public var isFull: Bool { bridge.isFull }

  /// Whether bytes wait for the receiver.
  public var hasWaiting: Bool { bridge.hasWaiting }

  public func write(_ bytes: UnsafeBufferPointer<UInt8>) { bridge.write(bytes) }

  /// Gives the right back. The hub then finds the receiver again, and restores the settings that the client has
  /// changed.
  ///
  /// - Parameter lease: the client's power lease, which ends when the hub has found the receiver again. Without it, the
  ///   hub could not put to sleep a receiver whose speed the client has changed
  public func end(keeping lease: Subscription? = nil) {
    let isFirst = isOver.withLock { isOver in
      defer { isOver = true }
      return !isOver
    }
    guard isFirst else {
      lease?.cancel()
      return
    }
    // The warning ends first, because another client may get the right at once.
    monitor.setWarning(about: .bridge, nil)
    guard let lease else { return bridge.release() }
    bridge.release { lease.cancel() }
  }
}
