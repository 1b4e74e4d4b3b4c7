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
  private let onHangUp: @Sendable () -> Void

  /// From here on the signals end nothing; those that come before `run` wait for it.
  init(onTerminate: @escaping @Sendable () -> Void, onHangUp: @escaping @Sendable () -> Void) throws {
    descriptor = clinux_hear_signals()
    guard descriptor >= 0 else {
      throw CommandError(.inputOutput, "cannot hear signals: \(String(cString: strerror(-descriptor)))")
    }
    self.onTerminate = onTerminate
    self.onHangUp = onHangUp
  }

  func run() async throws {
    let stop = StopSignal()
    let error = DetachedThread.start("signals") { listen(until: stop) }
    guard error == 0 else {
      throw CommandError(.inputOutput, "no thread for signals: \(String(cString: strerror(error)))")
    }
    try? await gracefulShutdown()
    stop.set()
  }

  private func listen(until stop: StopSignal) {
    let poller = Poller(stop: stop.fileDescriptor)
    while poller.wait(for: descriptor) == .readable {
      var signal: UInt8 = 0
      guard read(descriptor, &signal, 1) == 1 else { continue }
      if Int32(signal) == SIGHUP { onHangUp() } else { onTerminate() }
    }
  }
}
