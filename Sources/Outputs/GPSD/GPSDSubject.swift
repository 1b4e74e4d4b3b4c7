import Hub

/// The subject of a watch on a board: the state, one of several receivers, or the IMU alone.
struct GPSDSubject {
  private let watch: GPSDWatch
  private let hub: Hub
  private let board: Board

  init(of watch: GPSDWatch, on hub: Hub, _ board: Board) {
    (self.watch, self.hub, self.board) = (watch, hub, board)
  }

  /// Whether the client is told of the state's positions.
  var wantsPositions: Bool { watch.wantsReports && !isOfIMU && oneReceiver == nil }

  /// Whether the client is told of positions, and so of their lack.
  var isPositionTold: Bool { wantsPositions || oneReceiver != nil }

  /// Whose positions the client is told in place of the state's.
  var oneReceiver: GPSDDevice? { watch.wantsReports ? namedReceiver : nil }

  /// The receiver that a watch names, if its values differ from those of the state.
  var namedReceiver: GPSDDevice? {
    guard let path = watch.device else { return nil }
    let receivers = GPSDDevice.all(of: hub).filter(\.isReceiver)
    // Of a single one that is fused the state says more.
    let isState = receivers.count == 1 && receivers.allSatisfy { board.fusedDevices.contains($0.id) }
    return isState ? nil : receivers.first { $0.path == path }
  }

  var isOfIMU: Bool {
    guard let device = watch.device else { return false }
    return GPSDDevice.all(of: hub).first { $0.path == device }?.isReceiver != true
  }
}
