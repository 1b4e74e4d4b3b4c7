import CTestThreads
import Guarding
import HardwareIO

/// A thread of another program that stands still, as one does in a call to the kernel that does not return, until it is released.
public final class HeldThread {
  private let release = WakeSignal()

  /// - Parameters:
  ///   - name: as `ps` shows it
  /// - Returns: `nil` if the program has no such thread
  public init?(_ name: String, of program: Program) {
    let folder = "/proc/\(program.pid)/task"
    let thread = Files.names(in: folder).first { thread in
      let bytes = (try? Files.bytes(of: "\(folder)/\(thread)/comm")) ?? []
      return String(decoding: bytes, as: UTF8.self) == "\(name)\n"
    }
    guard let thread = thread.flatMap(Int32.init), ctest_hold_thread(thread, release.fileDescriptor) == 0 else {
      return nil
    }
  }

  public func letGo() { release.raise() }

  deinit { letGo() }
}
