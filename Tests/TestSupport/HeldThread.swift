import CTestThreads
import Guarding
import HardwareIO

/// A thread of another program that is stopped until it is released, like one in a call to the kernel that does not
/// return.
public final class HeldThread {
  private let release = WakeSignal()

  /// - Parameters:
  ///   - name: the name that `ps` shows
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
