import Glibc
import Guarding
import HardwareIO

/// How much of a thread's stack has ever been used, by the thread or by earlier threads with the same memory.
public struct StackUse: Sendable {
  public var thread: String
  public var usedBytes: Int
  /// The size of the stack.
  public var byteCount: Int

  /// The stacks of all threads of a process. Threads that are running are examined again until they wait.
  static func all(of pid: pid_t) -> [StackUse] {
    let mappings = lines("/proc/\(pid)/maps").compactMap(Mapping.init)
    return Files.names(in: "/proc/\(pid)/task").sorted().compactMap { task in
      let folder = "/proc/\(pid)/task/\(task)"
      let name = lines(folder + "/comm").first.map(String.init) ?? "?"
      for _ in 0..<1000 {
        // The last two fields are the stack pointer and the program counter of a thread that waits in the kernel.
        let fields = lines(folder + "/syscall").first?.split(separator: " ") ?? []
        guard fields.count > 2, let pointer = Mapping.number(fields[fields.count - 2].dropFirst(2)) else {
          poll(nil, 0, 1)
          continue
        }
        guard let mapping = mappings.first(where: { $0.addresses.contains(pointer) }) else { return nil }
        return use(of: mapping, by: name, in: pid, isMain: task == "\(pid)")
      }
      return nil
    }
  }

  private struct Mapping {
    var addresses: Range<UInt>

    init?(_ line: Substring) {
      let ends = line.prefix { $0 != " " }.split(separator: "-")
      guard ends.count == 2, let low = Mapping.number(ends[0]), let high = Mapping.number(ends[1]), low < high else {
        return nil
      }
      addresses = low..<high
    }

    static func number(_ text: Substring) -> UInt? { UInt(text, radix: 16) }
  }

  private static func use(of mapping: Mapping, by name: String, in pid: pid_t, isMain: Bool) -> StackUse? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_STACK.rawValue), &limit) == 0 else { return nil }
    let defaultSize = limit.rlim_cur == rlim_t.max ? 8 << 20 : Int(limit.rlim_cur)
    // NIO creates its threads itself, with the system's stack size. All others belong to the project.
    let size = isMain || name.hasPrefix("NIO") ? defaultSize : DetachedThread.stackByteCount
    // A guard page lies below each stack, so the mapping begins where the stack does. Another mapping may follow
    // without a gap.
    let addresses = mapping.addresses
    let top = isMain ? addresses.upperBound : min(addresses.upperBound, addresses.lowerBound + UInt(size))
    let page = UInt(getpagesize())
    let file = open("/proc/\(pid)/pagemap", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    for address in stride(from: addresses.lowerBound, to: top, by: Int(page)) {
      var entry: UInt64 = 0
      guard pread(file, &entry, 8, off_t(address / page * 8)) == 8 else { return nil }
      // The page is present, or swapped out.
      if entry >> 62 != 0 { return StackUse(thread: name, usedBytes: Int(top - address), byteCount: size) }
    }
    return nil
  }

  private static func lines(_ path: String) -> [Substring] {
    let bytes = (try? Files.bytes(of: path)) ?? []
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
  }
}
