import Glibc
import Guarding
import MonotonicTime
import TestSupport
import Testing

/// Receives the watchdog's pings in place of systemd.
final class NotifiedPings: Sendable {
  let limit = Duration.seconds(4)
  private let folder = TemporaryFolder("notify")
  private let times = PingTimes()

  init() throws {
    let path = "\(folder.path)/socket"
    let times = times
    let isBound = WakeSignal()
    let error = DetachedThread.start("notify") {
      let socket = DatagramSocket(path)
      isBound.raise()
      // The kernel queues only ten messages. A hub whose messages are not read would wait.
      while !times.stop.isSet {
        if socket.texts().contains(where: { $0.contains("WATCHDOG=1") }) {
          times.all.withLock { $0.append(MonotonicClock().now) }
        }
        _ = poll(nil, 0, 20)
      }
    }
    try #require(error == 0)
    isBound.wait()
  }

  deinit { times.stop.set() }

  var environment: [String] {
    ["NOTIFY_SOCKET=\(folder.path)/socket", "WATCHDOG_USEC=\(limit.inNanoseconds / 1000)"]
  }

  /// The time of the latest ping; zero before the first one.
  var latest: MonotonicInstant { times.all.withLock { $0.last } ?? MonotonicInstant(nanoseconds: 0) }

  /// The longest time without a ping, up to now.
  var longestPause: Duration {
    let all = times.all.withLock { $0 } + [MonotonicClock().now]
    return zip(all, all.dropFirst()).map { $1 - $0 }.max() ?? .zero
  }
}

/// The data that `NotifiedPings` shares with its thread, which may outlive it.
private final class PingTimes: Sendable {
  let all = Guarded([MonotonicInstant]())
  let stop = StopSignal()
}
