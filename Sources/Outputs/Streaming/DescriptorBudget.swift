import Glibc

/// Divides the file descriptors of the process among its outputs, so that no output takes those of another.
///
/// Each client needs a descriptor. The usual limit of a process is 1024, for old programs, and can be raised.
public struct DescriptorBudget: Equatable, Sendable {
  /// The wanted number, enough for every port at its usual limit.
  private static let wanted = 4096
  /// The descriptors of the hub itself: devices, timers, ports, and one more connection of each kind than permitted.
  private static let own = 96

  /// The number of descriptors that the process may open.
  let total: Int

  init(total: Int) { self.total = total }

  /// Raises the limit of the process as far as it is useful.
  ///
  /// - Returns: the new budget
  public static func raised() -> DescriptorBudget {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      return DescriptorBudget(total: 1024)
    }
    let present = limit.rlim_cur
    limit.rlim_cur = max(present, min(limit.rlim_max, rlim_t(wanted)))
    let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    return DescriptorBudget(total: Int(clamping: isRaised ? limit.rlim_cur : present))
  }

  /// The number for the clients of the Unix sockets, which does not depend on the ports.
  var unixSockets: Int { min(256, max(8, total / 8)) }

  /// The number for the clients of one stream port. Half of the rest is for HTTP, which has the most streams.
  var streamPort: Int { max(4, left / 4) }

  /// The number for the connections of the web port, event streams included.
  var http: Int { max(8, left / 2) }

  private var left: Int { total - DescriptorBudget.own - unixSockets }
}
