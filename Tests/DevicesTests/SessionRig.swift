import Devices
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import TestSupport

/// Runs of a receiver's session over a pseudo-terminal, each on a thread of its own, by the receiver's own clock.
final class SessionRig: Sendable {
  /// The receiver at the far end of the line. The test may replace it between two runs.
  var receiver: ScriptedReceiver {
    get { present.withLock { $0 } }
    set { present.withLock { $0 = newValue } }
  }
  /// The speed that each run found, at its start and after each client of the bridge; `nil` if the run was told to stop
  /// before it found one.
  let started = Recorder<BaudRate?>()
  /// How each run has ended: "asleep", "awake" or the error.
  let ended = Recorder<String>()
  /// The reports of all runs.
  private let reports = SessionReports()
  /// The doubts about the receiver from other devices.
  let receiverHealth = ReceiverHealth()
  private let present: Guarded<ScriptedReceiver>
  private let configuration: ReceiverConfiguration
  private let keeping: KnowledgeKeeping
  private let bridge: ReceiverBridge?
  /// Every read of the line, as received.
  let raw = Recorder<[UInt8]>()
  private let memory = ReceiverMemory()
  private let suppliedSince: MonotonicInstant
  private let stop = Guarded(StopSignal())

  /// - Parameters:
  ///   - keeping: the store of the receiver's knowledge while its supply is off
  ///   - bridge: the clients' way to the receiver
  init(
    _ configuration: ReceiverConfiguration, _ receiver: ScriptedReceiver, keeping: KnowledgeKeeping = .none,
    bridge: ReceiverBridge? = nil
  ) {
    self.bridge = bridge
    self.configuration = configuration
    self.keeping = keeping
    present = Guarded(receiver)
    suppliedSince = receiver.clock.now
  }

  var observations: Recorder<GNSSObservation> { reports.observations }
  var warnings: Recorder<String?> { reports.warnings }
  var identities: Recorder<ReceiverIdentity?> { reports.identities }
  var restarts: Recorder<String?> { reports.restarts }

  /// Begins a run.
  func start() throws {
    let stop = StopSignal()
    self.stop.withLock { $0 = stop }
    let clock = receiver.clock
    let port = try LinuxSerialPort(receiver.path, speed: .b9600)
    let error = DetachedThread.start("session") { [self] in
      let serial = SerialReceiver(
        port: port, poller: Poller(stop: stop.fileDescriptor, clock: clock), clock: clock,
        forwardRaw: { [raw] in { raw.append($0) } }, bridge: bridge)
      let session = ReceiverSession(
        configuration, memory, serial, suppliedSince: suppliedSince, receiverHealth: receiverHealth,
        keeping: keeping, delegate: reports)
      let end: String
      do throws(HardwareError) {
        var speed = try session.start()
        started.append(speed)
        while speed != nil, try session.run(), try session.relay() {
          speed = try session.start()
          started.append(speed)
        }
        end = try session.end() ? "asleep" : "awake"
      } catch {
        end = error.summary
      }
      // The next run opens the port again.
      port.close()
      ended.append(end)
    }
    precondition(error == 0)
  }

  /// Tells the run to stop, and waits until it has.
  func finish() async {
    let count = ended.values.count
    stop.withLock { $0.set() }
    await ended.first(count + 1)
  }
}
