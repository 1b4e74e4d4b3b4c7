import Glibc
import Guarding
import HardwareIO

/// Reads what programs write to a simulated receiver, on its own thread.
final class ReceiverListener: Sendable {
  private let input: Int32
  private let stop: StopSignal
  private let onBytes: @Sendable ([UInt8]) -> Void

  /// - Parameter input: closed when the thread ends
  init(input: Int32, stop: StopSignal, onBytes: @escaping @Sendable ([UInt8]) -> Void) {
    self.input = input
    self.stop = stop
    self.onBytes = onBytes
  }

  /// Starts the thread. Returns `false` if the system cannot start another thread.
  func start() -> Bool {
    if DetachedThread.start("simulated rx", { self.run() }) == 0 { return true }
    close(input)
    return false
  }

  private func run() {
    defer { close(input) }
    let poller = Poller(stop: stop.fileDescriptor)
    var chunk = [UInt8](repeating: 0, count: 4096)
    while poller.wait(for: input) == .readable {
      let count = chunk.withUnsafeMutableBytes { read(input, $0.baseAddress, $0.count) }
      if count > 0 {
        onBytes(Array(chunk[..<count]))
      } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
        return
      }
    }
  }
}
