import CLinux
import Glibc
import Guarding
import Hub
import Publishing
import ServiceLifecycle

/// Sends the receiver's time to chronyd, through the socket of a `refclock SOCK`. The board file names the socket.
///
/// If the board file names a socket, the output subscribes to the receiver, which then stays awake.
public final class ChronyOutput: Service {
  private let host: HubHost
  private let sink: JournalSink
  private let present = Guarded<Subscription?>(nil)

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    let boards = host.hub.registry.subscribe(
      as: "chrony",
      receiveValue: { [self] devices in
        let new = devices.board.chronySocket.map { path in
          let lastError = Guarded<Int32?>(nil)
          return host.hub.clockOffsets.subscribe(
            as: "chrony",
            receiveValue: { [self] in send($0, to: path, lastError) })
        }
        present.withLock { present in
          defer { present = new }
          return present
        }?.cancel()
      })
    await untilShutdown()
    boards.cancel()
    present.withLock { $0 }?.cancel()
  }

  private func send(_ offset: ClockOffset, to path: String, _ lastError: borrowing Guarded<Int32?>) {
    let result = clinux_chrony_send(path, offset.systemNanosecondsSince1970, offset.offsetSeconds)
    let before = lastError.withLock { last in
      defer { last = result }
      return last
    }
    // Log the result only if it differs from the previous one, not with every offset.
    guard result != before else { return }
    if result == 0 { return sink.write(.notice, "chronyd accepts the time on \(path)") }
    let next =
      switch -result {
      case ENOENT, ECONNREFUSED: "chronyd creates the socket if its configuration has 'refclock SOCK \(path)'"
      case EACCES: "give the hub's user write access after chronyd has started: chgrp sensorhub and chmod g+w"
      default: "read chronyd's log"
      }
    sink.write(.warning, "chronyd does not accept the time on \(path): \(String(cString: strerror(-result))); \(next)")
  }
}
