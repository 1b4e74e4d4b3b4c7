import Glibc

/// How the file descriptors that the process may open are shared out, so that no output takes those of another.
///
/// A descriptor is a client. What the process may open is usually 1024, for the sake of old programs, and more if it asks.
public struct DescriptorBudget: Equatable, Sendable {
  /// Enough for every port at its usual limit.
  private static let wanted = 4096
  /// What the hub opens for itself: devices, timers, ports, a connection more than there may be of each kind.
  private static let own = 96

  /// How many the process may open.
  let total: Int

  init(total: Int) { self.total = total }

  /// Raises what the process may open as far as that is of use, and tells what it has become.
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

  /// For the clients of the Unix sockets, whatever the ports take.
  var unixSockets: Int { min(256, max(8, total / 8)) }

  /// For the clients of one stream port. Half of what is left is for HTTP, whose streams are the most.
  var streamPort: Int { max(4, left / 4) }

  /// For the connections of the web port, event streams included.
  var http: Int { max(8, left / 2) }

  private var left: Int { total - DescriptorBudget.own - unixSockets }
}
