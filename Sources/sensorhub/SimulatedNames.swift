import Hub
import Outputs
import Simulation

/// Finds ports and buses of a board file with a simulated name that does not exist, because nothing would ever answer
/// there.
enum SimulatedNames {
  /// The problems, each with the existing names.
  static func problems(in board: Board) -> [BoardProblem] {
    board.devices.compactMap { device in
      guard SimulatedHardware.isSimulated(device.path) else { return nil }
      let isReceiver = device.kind == .receiver
      let known = isReceiver ? SimulatedHardware.serialPorts : [SimulatedHardware.i2cBus]
      guard !known.contains(device.path) else { return nil }
      // The common prefix would make all names similar.
      let prefix = SimulatedHardware.prefix
      let guess = NearestWord.guess(
        String(device.path.dropFirst(prefix.count)), among: known.map { String($0.dropFirst(prefix.count)) })
      return BoardProblem(
        "devices.\(device.id).\(isReceiver ? "port" : "bus")",
        "is '\(device.path)', but no simulated device has "
          + "this name; \(guess.map { "did you mean '\(prefix)\($0)'? " } ?? "")"
          + "there \(known.count == 1 ? "is" : "are") \(known.joined(separator: ", "))")
    }
  }
}
