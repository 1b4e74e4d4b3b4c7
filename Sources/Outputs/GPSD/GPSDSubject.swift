import Hub

/// The subject of a watch on a board: the state, one of several receivers, or the IMU alone.
struct GPSDSubject {
  private let watch: GPSDWatch
  private let hub: Hub
  private let board: Board

  init(of watch: GPSDWatch, on hub: Hub, _ board: Board) {
    (self.watch, self.hub, self.board) = (watch, hub, board)
  }

  var wantsPositions: Bool { watch.wantsReports && !isOfIMU && oneReceiver == nil }

  /// Whether the client receives positions, and is therefore told when there are none.
  var isPositionTold: Bool { wantsPositions || oneReceiver != nil }

  /// The receiver whose positions replace those of the state.
  var oneReceiver: GPSDDevice? { watch.wantsReports ? namedReceiver : nil }

  /// The receiver that a watch names, if its values differ from those of the state.
  var namedReceiver: GPSDDevice? {
    guard let path = watch.device else { return nil }
    let receivers = GPSDDevice.all(of: hub).filter(\.isReceiver)
    // If the only receiver is fused, the state contains more than that receiver's values.
    let isState = receivers.count == 1 && receivers.allSatisfy { board.fusedDevices.contains($0.id) }
    return isState ? nil : receivers.first { $0.path == path }
  }

  var isOfIMU: Bool {
    guard let device = watch.device else { return false }
    return GPSDDevice.all(of: hub).first { $0.path == device }?.isReceiver != true
  }
}
