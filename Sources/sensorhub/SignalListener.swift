import CLinux
import Glibc
import Guarding
import HardwareIO
import Publishing
import ServiceLifecycle

/// Hears SIGTERM, SIGINT and SIGHUP on a thread that sleeps until one comes.
///
/// Dispatch's signal sources, which the lifecycle library offers, need Dispatch's threads, and these wake once a second on
/// Linux; a hub that promises not to wake while nobody listens reads a descriptor instead.
struct SignalListener: Service {
  private let descriptor: Int32
  private let onTerminate: @Sendable () -> Void
  private let onHangUp: @Sendable () async -> Void

  /// From here on the signals end nothing; those that come before `run` wait for it.
  ///
  /// - Parameters:
  ///   - onTerminate: called at once, whatever else is going on
  ///   - onHangUp: never twice at a time; what comes while it runs makes it run once more
  init(onTerminate: @escaping @Sendable () -> Void, onHangUp: @escaping @Sendable () async -> Void) throws {
    descriptor = clinux_hear_signals()
    guard descriptor >= 0 else {
      throw CommandError(.inputOutput, "cannot hear signals: \(String(cString: strerror(-descriptor)))")
    }
    self.onTerminate = onTerminate
    self.onHangUp = onHangUp
  }

  func run() async throws {
    let stop = StopSignal()
    let (hangUps, hungUp) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let error = DetachedThread.start("signals") {
      listen(until: stop) { hungUp.yield() }
    }
    guard error == 0 else {
      throw CommandError(.inputOutput, "no thread for signals: \(String(cString: strerror(error)))")
    }
    await withGracefulShutdownHandler {
      for await _ in hangUps { await onHangUp() }
    } onGracefulShutdown: {
      hungUp.finish()
    }
    stop.set()
  }

  private func listen(until stop: StopSignal, onHangUp: () -> Void) {
    let poller = Poller(stop: stop.fileDescriptor)
    while poller.wait(for: descriptor) == .readable {
      var signal: UInt8 = 0
      guard read(descriptor, &signal, 1) == 1 else { continue }
      if Int32(signal) == SIGHUP { onHangUp() } else { onTerminate() }
    }
  }
}
