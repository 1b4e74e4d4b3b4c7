import Hub

extension Board {
  /// Without what would act on the machine: a recording that sets the clock, or is recorded again, is nobody's wish.
  var asReplayed: Board {
    var board = self
    board.record = nil
    board.chronySocket = nil
    board.journalsState = false
    board.nmea.removeAll { $0.target != nil }
    for (index, device) in board.devices.enumerated() {
      guard case .receiver(var receiver) = device else { continue }
      receiver.pulse = nil
      board.devices[index] = .receiver(receiver)
    }
    return board
  }
}
