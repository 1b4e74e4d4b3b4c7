import Guarding
import HardwareIO
import Testing

/// A bus with a list of expected transactions. It fails the test on any other transaction.
final class PlaybackBus: I2CBus {
  /// One transaction: its purpose, the written bytes, and the returned bytes.
  struct Step: Sendable {
    var purpose: String
    var write: [UInt8]
    var read: [UInt8]
    var error: HardwareError?

    init(_ purpose: String, _ write: [UInt8], read: [UInt8] = [], error: HardwareError? = nil) {
      self.purpose = purpose
      self.write = write
      self.read = read
      self.error = error
    }
  }

  let name = "playback"
  let maximumReadLength: Int
  private let address: UInt8
  private let steps: Guarded<[Step]>

  init(_ steps: [Step], address: UInt8 = 0x68, maximumReadLength: Int = 4096) {
    self.steps = Guarded(steps)
    self.address = address
    self.maximumReadLength = maximumReadLength
  }

  func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    #expect(address == self.address)
    guard let step = steps.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
      Issue.record("a transaction after the last step")
      return
    }
    for operation in operations {
      switch operation {
      case .write(let bytes): #expect(Array(bytes) == step.write, "\(step.purpose)")
      case .read(let buffer):
        #expect(buffer.count == step.read.count, "\(step.purpose)")
        if step.error == nil { buffer.copyBytes(from: step.read.prefix(buffer.count)) }
      }
    }
    if let error = step.error { throw error }
  }

  /// Fails the test if steps are left over.
  func finish() {
    let left = steps.withLock { $0.map(\.purpose) }
    #expect(left.isEmpty, "not done: \(left)")
  }
}
