import CLinux
import Glibc
import Guarding
import MonotonicTime

/// Has ports opened later that cannot be opened yet: when an address of this machine's comes, and, for ports that another program
/// has, again and again, ever less often.
///
/// It has a thread for as long as a port is missing, and costs nothing else.
final class MissingPorts: Sendable {
  private let retry: Callback
  private let watching = Guarded<StopSignal?>(nil)

  /// - Parameter retry: tries to open the ports that are missing; called on the thread
  init(retry: @escaping @Sendable () -> Void) { self.retry = Callback(retry) }

  /// Whether any port is missing.
  func set(isMissing: Bool) {
    let (old, new) = watching.withLock { watching -> (StopSignal?, StopSignal?) in
      guard isMissing != (watching != nil) else { return (nil, nil) }
      let old = watching
      watching = isMissing ? StopSignal() : nil
      return (old, watching)
    }
    old?.set()
    guard let new else { return }
    // Without a thread they wait for the next reload.
    _ = DetachedThread.start("ports") { [retry] in MissingPorts.watch(until: new, retry) }
  }

  private static func watch(until stop: StopSignal, _ retry: Callback) {
    let addresses = clinux_watch_addresses()
    defer { if addresses >= 0 { close(addresses) } }
    var pace = ReconnectPace()
    while true {
      var descriptors = [stop.fileDescriptor, addresses].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let milliseconds = pace.next().inSeconds * 1000
      _ = poll(&descriptors, nfds_t(descriptors.count), Int32(milliseconds))
      if stop.isSet { return }
      if descriptors[1].revents != 0 { clinux_clear_address_changes(addresses) }
      retry()
    }
  }
}
