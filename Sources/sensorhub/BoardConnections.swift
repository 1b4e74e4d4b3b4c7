import HardwareIO
import Hub
import Simulation

/// The supply lines, ports and chips that two boards share. Only one hub may use such a connection at a time.
enum BoardConnections {
  /// The shared connections in words, sorted. Simulated connections are never shared, because each hub has its own.
  static func shared(_ board: Board, _ other: Board) -> [String] {
    all(of: board).intersection(all(of: other)).sorted()
  }

  private static func all(of board: Board) -> Set<String> {
    var all: Set<String> = []
    for device in board.devices {
      if !SimulatedHardware.isSimulated(device.path) {
        // A device may have several names in /dev, so resolve them before comparing.
        let path = Files.resolved(device.path) ?? device.path
        all.insert(device.place.map { "\(I2CAddress(bus: path, address: $0.address))" } ?? path)
      }
      if case .gpio(let line, _) = device.power.switch, !SimulatedHardware.isSimulated(line.chip) {
        all.insert("line \(line.line) of \(line.chip)")
      }
    }
    return all
  }
}
