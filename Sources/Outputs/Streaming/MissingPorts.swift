import CLinux
import Glibc
import Guarding
import MonotonicTime

/// Opens the ports that could not be opened at first. It tries when the addresses of this machine change, and at
/// growing intervals, because another program may have closed a port.
///
/// It has a thread only while a port is missing.
final class MissingPorts: Sendable {
  private let retry: Callback
  private let watching = Guarded<StopSignal?>(nil)

  /// - Parameter retry: tries to open the missing ports; called on a thread of this type
  init(retry: @escaping @Sendable () -> Void) { self.retry = Callback(retry) }

  /// Starts trying to open ports if any is missing, and stops otherwise.
  func set(isMissing: Bool) {
    let (old, new) = watching.withLock { watching -> (StopSignal?, StopSignal?) in
      guard isMissing != (watching != nil) else { return (nil, nil) }
      let old = watching
      watching = isMissing ? StopSignal() : nil
      return (old, watching)
    }
    old?.set()
    guard let new else { return }
    // If no thread can be started, the ports stay closed until the next reload.
    _ = DetachedThread.start("ports") { [retry] in MissingPorts.watch(until: new, retry) }
  }

  private static func watch(until stop: StopSignal, _ retry: Callback) {
    let addresses = clinux_watch_addresses()
    defer { if addresses >= 0 { close(addresses) } }
    var backoff = ReconnectBackoff()
    while true {
      var descriptors = [stop.fileDescriptor, addresses].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let milliseconds = backoff.next().inSeconds * 1000
      _ = poll(&descriptors, nfds_t(descriptors.count), Int32(milliseconds))
      if stop.isSet { return }
      if descriptors[1].revents != 0 { clinux_clear_address_changes(addresses) }
      retry()
    }
  }
}
