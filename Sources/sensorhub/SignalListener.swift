import CLinux
import Glibc
import Guarding
import HardwareIO
import Publishing
import ServiceLifecycle

/// Handles SIGTERM, SIGINT and SIGHUP on a thread that sleeps until a signal arrives.
///
/// SIGHUP has two meanings. A service manager or a user requests a reload of the board file; or the terminal that
/// started the hub is gone, so that Ctrl-C can no longer end the hub.
///
/// The signal sources of Dispatch, which the lifecycle library uses, need Dispatch's threads, which wake once a second
/// on Linux. The hub must not wake without clients, so this thread reads a descriptor instead.
struct SignalListener: Service {
  private let descriptor: Int32
  /// Whether the hub was started from a terminal.
  private let hadTerminal: Bool
  /// Whether the hub continues after a hang-up, as under nohup.
  private let ignoresHangUps: Bool
  private let onTerminate: @Sendable () -> Void
  private let onReload: @Sendable () async -> Void

  /// Takes over the signals, which then no longer end the process. Signals that arrive before `run` are handled by
  /// `run`.
  ///
  /// - Parameters:
  ///   - onTerminate: called for SIGTERM, SIGINT and a hang-up of the terminal, on the thread that reads the signals
  ///   - onReload: never called twice at the same time; requests during a call cause one further call
  init(onTerminate: @escaping @Sendable () -> Void, onReload: @escaping @Sendable () async -> Void) throws {
    hadTerminal = Terminal.isControlling
    ignoresHangUps = clinux_is_ignored(SIGHUP)
    descriptor = clinux_hear_signals()
    guard descriptor >= 0 else {
      throw CommandError(.inputOutput, "cannot receive signals: \(String(cString: strerror(-descriptor)))")
    }
    self.onTerminate = onTerminate
    self.onReload = onReload
  }

  func run() async throws {
    let stop = StopSignal()
    let (requests, request) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let error = DetachedThread.start("signals") {
      listen(until: stop) { request.yield() }
    }
    guard error == 0 else {
      throw CommandError(.inputOutput, "cannot start a thread for signals: \(String(cString: strerror(error)))")
    }
    await withGracefulShutdownHandler {
      for await _ in requests { await onReload() }
    } onGracefulShutdown: {
      request.finish()
    }
    stop.set()
  }

  private func listen(until stop: StopSignal, onReload: () -> Void) {
    let poller = Poller(stop: stop.fileDescriptor)
    while poller.wait(for: descriptor) == .readable {
      var byte: UInt8 = 0
      guard read(descriptor, &byte, 1) == 1 else { continue }
      let kernel = UInt8(CLINUX_FROM_KERNEL)
      let leader = UInt8(CLINUX_FROM_SESSION_LEADER)
      switch Int32(byte & ~kernel & ~leader) {
      case SIGHUP where !isHangUp(fromKernel: byte & kernel != 0, fromLeader: byte & leader != 0): onReload()
      case SIGHUP where ignoresHangUps: break
      default: onTerminate()
      }
    }
  }

  /// Whether a SIGHUP is a hang-up. When a terminal is closed, the kernel signals the processes in the foreground, and
  /// the shell signals its other jobs. A SIGHUP from any other sender requests a reload.
  private func isHangUp(fromKernel: Bool, fromLeader: Bool) -> Bool {
    hadTerminal && (fromKernel || fromLeader && !Terminal.isControlling)
  }
}

/// The signals that end a command: Ctrl-C, SIGTERM and the loss of the terminal. With this type, the command can finish
/// its work first.
struct EndSignals {
  /// A descriptor that is readable when a signal has arrived.
  let descriptor: Int32
  /// Whether hang-ups are ignored, as under nohup.
  private let ignoresHangUps: Bool

  /// Takes over the signals, which then no longer end the process. Create only one value.
  init() throws(CommandError) {
    ignoresHangUps = clinux_is_ignored(SIGHUP)
    descriptor = clinux_hear_signals()
    guard descriptor >= 0 else {
      throw CommandError(.inputOutput, "cannot receive signals: \(String(cString: strerror(-descriptor)))")
    }
  }

  /// Returns the next signal; `nil` if there is none, or it is ignored.
  func next() -> Int32? {
    var byte: UInt8 = 0
    guard read(descriptor, &byte, 1) == 1 else { return nil }
    let number = Int32(byte & ~UInt8(CLINUX_FROM_KERNEL) & ~UInt8(CLINUX_FROM_SESSION_LEADER))
    return number == SIGHUP && ignoresHangUps ? nil : number
  }
}
