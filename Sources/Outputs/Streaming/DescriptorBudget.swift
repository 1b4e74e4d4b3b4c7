import Glibc

/// Divides the file descriptors of the process among its outputs, so that no output uses up those of another.
///
/// Each client needs a descriptor. By default a process may open 1024 files. It may raise this limit up to its hard
/// limit.
public struct DescriptorBudget: Equatable, Sendable {
  /// The number of descriptors to ask for, enough for every port at its usual limit.
  private static let wanted = 4096
  /// The descriptors that the hub itself needs: for devices, timers and ports, and to accept one connection of each
  /// kind above the limit.
  private static let own = 96

  /// The number of descriptors that the process may open.
  let total: Int

  init(total: Int) { self.total = total }

  /// Raises the limit of the process to `wanted`, or as close to it as the hard limit permits.
  ///
  /// - Returns: the budget with the new limit
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

  /// The number of descriptors for the clients of the Unix sockets. It does not depend on the number of ports.
  var unixSockets: Int { min(256, max(8, total / 8)) }

  /// The number of descriptors for the clients of one kind of stream port, such as all NMEA 0183 ports. It is a sixth
  /// of the descriptors that the hub itself and the Unix sockets do not need. The three kinds (gpsd, NMEA 0183, Signal
  /// K) share one half, and HTTP, which has the most streams, gets the other half. `own` has room for the few clients
  /// of a raw bridge.
  var streamPort: Int { max(4, left / 6) }

  /// The number of descriptors for the connections of the web port, event streams included.
  var http: Int { max(8, left / 2) }

  private var left: Int { total - DescriptorBudget.own - unixSockets }
}
