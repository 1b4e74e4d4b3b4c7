import Hub
import Outputs
import Simulation

/// Finds ports and buses in a board file that have a simulated name which does not exist, so that no device would ever
/// answer.
enum SimulatedNames {
  /// The problems. Each one lists the names that exist.
  static func problems(in board: Board) -> [BoardProblem] {
    board.devices.compactMap { device in
      guard SimulatedHardware.isSimulated(device.path) else { return nil }
      let isReceiver = device.kind == .receiver
      let known = isReceiver ? SimulatedHardware.serialPorts : [SimulatedHardware.i2cBus]
      guard !known.contains(device.path) else { return nil }
      // Compare the names without their common prefix, which would make all of them similar.
      let prefix = SimulatedHardware.prefix
      let guess = NearestWord.guess(
        String(device.path.dropFirst(prefix.count)), among: known.map { String($0.dropFirst(prefix.count)) })
      return BoardProblem(
        "devices.\(device.id).\(isReceiver ? "port" : "bus")",
        "is '\(device.path)', but no simulated device has "
          + "this name; \(guess.map { "did you mean '\(prefix)\($0)'? " } ?? "")"
          + "\(known.count == 1 ? "the only valid one is" : "valid ones are") \(known.joined(separator: ", "))")
    }
  }
}
