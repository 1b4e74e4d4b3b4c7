import Guarding
import HardwareIO

/// The I2C port of a u-blox receiver (DDC). It has three registers: the number of waiting bytes at 0xFD and 0xFE, and
/// the bytes themselves at 0xFF.
///
/// The port passes its bytes to the receiver's tty, at the speed of that tty. In backup mode the receiver does not
/// answer.
final class SimulatedI2CReceiver: SimulatedChip {
  /// The maximum number of waiting bytes. If the host does not read them, the oldest ones are lost.
  private static let capacity = 4096

  private struct State {
    var port: (any SerialPort)?
    var waiting: [UInt8] = []
    var register: UInt8 = 0xFF
  }

  let name: String
  let address = I2CPortName.usualAddress
  let maximumReadLength = 4096
  private let receiver: CommandedReceiver
  private let state = Guarded(State())

  init(name: String, receiver: CommandedReceiver) {
    self.name = name
    self.receiver = receiver
  }

  func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    guard receiver.phase != .off, receiver.phase != .backup else {
      throw .noAcknowledge(bus: name, address: address)
    }
    try state.withLock { state throws(HardwareError) in
      let port = try connect(&state)
      for operation in operations {
        switch operation {
        case .write(let bytes) where bytes.count == 1: state.register = bytes[0]
        case .write(let bytes): try port.write(Array(bytes))
        case .read(let bytes):
          for index in bytes.indices { bytes[index] = SimulatedI2CReceiver.next(&state) }
        }
      }
    }
  }

  /// Fetches the receiver's output.
  private func connect(_ state: inout State) throws(HardwareError) -> any SerialPort {
    // The tty takes the place of the receiver's internal connection, and needs the speed of the receiver's UART.
    let speed = BaudRate(rawValue: receiver.speed) ?? .b9600
    let port: any SerialPort = if let port = state.port { port } else { try receiver.open(speed: speed) }
    state.port = port
    try port.setSpeed(speed)
    var buffer = [UInt8](repeating: 0, count: SimulatedI2CReceiver.capacity)
    let count = buffer.withUnsafeMutableBytes { bytes -> Result<Int, HardwareError> in
      do throws(HardwareError) { return .success(try port.read(into: bytes)) } catch { return .failure(error) }
    }
    state.waiting = (state.waiting + buffer[..<(try count.get())]).suffix(SimulatedI2CReceiver.capacity)
    return port
  }

  private static func next(_ state: inout State) -> UInt8 {
    let register = state.register
    if register != 0xFF { state.register += 1 }
    switch register {
    case 0xFD: return UInt8(state.waiting.count >> 8)
    case 0xFE: return UInt8(state.waiting.count & 0xFF)
    case 0xFF: return state.waiting.isEmpty ? 0xFF : state.waiting.removeFirst()
    default: return 0xFF
    }
  }
}
