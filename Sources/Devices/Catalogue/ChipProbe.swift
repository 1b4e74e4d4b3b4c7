import HardwareIO

/// Searches all addresses of a bus for chips. The search writes nothing but the numbers of the registers to read.
public enum ChipProbe {
  public enum Finding: Sendable {
    case chip(CatalogueEntry, address: UInt8)
    /// A chip acknowledges, but its identity is unknown.
    case unknown(address: UInt8)
    /// A kernel driver uses the address. The name of the driver is `nil` if it is unknown.
    case taken(address: UInt8, driver: String?)
  }

  /// The addresses that are not reserved for the bus itself.
  private static let addresses: ClosedRange<UInt8> = 0x08...0x77

  /// Returns the findings on a bus, in the order of their addresses.
  ///
  /// - Throws: if the bus itself does not work
  public static func find(on bus: any I2CBus) throws(HardwareError) -> [Finding] {
    var findings: [Finding] = []
    var timeouts = 0
    for address in addresses {
      do throws(HardwareError) {
        guard try acknowledges(address, on: bus) else { continue }
        let registers = I2CRegisters(bus, address: address, capacity: ChipIdentity.longest)
        var known: CatalogueEntry?
        for chip in CatalogueEntry.all + CatalogueEntry.unread where known == nil && chip.addresses.contains(address) {
          if try chip.identity.isTrue(of: registers) { known = chip }
        }
        findings.append(known.map { .chip($0, address: address) } ?? .unknown(address: address))
      } catch {
        switch error {
        case .busy(_, _, let driver): findings.append(.taken(address: address, driver: driver))
        // The chip acknowledges only some transfers, so its identity stays unknown.
        case .noAcknowledge: findings.append(.unknown(address: address))
        // A chip without output may hold the clock until it has output. If several addresses time out, the bus itself
        // is at fault.
        case .timedOut where timeouts < 2:
          timeouts += 1
          findings.append(.unknown(address: address))
        default: throw error
        }
      }
    }
    return findings
  }

  private static func acknowledges(_ address: UInt8, on bus: any I2CBus) throws(HardwareError) -> Bool {
    let result = withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { byte -> Result<Bool, HardwareError> in
      withUnsafeTemporaryAllocation(of: I2COperation.self, capacity: 1) { operations in
        operations.initialize(repeating: .read(byte))
        do throws(HardwareError) {
          try bus.transaction(address, UnsafeBufferPointer(operations))
          return .success(true)
        } catch .noAcknowledge {
          return .success(false)
        } catch {
          return .failure(error)
        }
      }
    }
    return try result.get()
  }
}
