import Guarding
import HardwareIO
import Simulation

/// A bus with the chips of a package, which records all writes except the register numbers of reads.
final class PackageBus: I2CBus {
  private struct Write: Sendable {
    var address: UInt8
    var bytes: [UInt8]
  }

  let name = "twin"
  let maximumReadLength = 4096
  private let bus: SimulatedI2CBus
  private let written = Guarded<[Write]>([])

  init(_ chips: [any SimulatedChip]) { bus = SimulatedI2CBus(name: "twin", chips: chips) }

  /// The acknowledged writes to an address.
  func writes(to address: UInt8) -> [[UInt8]] {
    written.withLock { $0.filter { $0.address == address }.map(\.bytes) }
  }

  func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    try bus.transaction(address, operations)
    for case .write(let bytes) in operations where bytes.count > 1 {
      written.withLock { $0.append(Write(address: address, bytes: Array(bytes))) }
    }
  }
}
