import CLinux
import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import Synchronization

/// A GPS receiver on a real pseudo-terminal. It is silent while its supply is off. After power-on it reports no fix
/// for `timeToFirstFix`, and then the position of the vehicle.
///
/// The pseudo-terminal exists while the receiver is plugged in. The thread exists only while the receiver also has its
/// supply.
public final class SimulatedReceiver: Sendable {
  public struct Configuration: Sendable {
    public var rateHz = 5.0
    public var timeToFirstFix = Duration.milliseconds(800)
    /// The standard deviation of the horizontal position, in metres.
    public var positionSigmaMetres = 0.8

    /// A recurring stretch of road without satellite reception.
    public var tunnel: Tunnel?
    /// The time that the satellites transmit, in nanoseconds since 1970.
    public var satelliteTime: @Sendable () -> Int64 = { clinux_realtime_ns() }

    public init() {}
  }

  /// A recurring stretch of road without satellite reception. In each period, counted from the start of the world, the
  /// reception ends at the time `entrance`, and returns after `length`.
  public struct Tunnel: Sendable {
    public var period: Duration
    public var entrance: Duration
    public var length: Duration

    public init(period: Duration, entrance: Duration, length: Duration) {
      self.period = period
      self.entrance = entrance
      self.length = length
    }

    func contains(_ time: Duration) -> Bool {
      let laps = (time.inSeconds / period.inSeconds).rounded(.down)
      let phase = time - period * laps
      return phase >= entrance && phase < entrance + length
    }
  }

  private struct State {
    var terminal: Terminal?
    var isPowered = false
    var isMuted = false
    /// The stop signal of the running thread.
    var stop: StopSignal?
  }

  private struct Terminal {
    var controller: Int32
    var path: String
  }

  private let world: World
  private let clock: any MonotonicTimeSource
  private let configuration: Configuration
  private let state = Guarded(State())
  private let written = Atomic(0)

  public init(world: World, clock: any MonotonicTimeSource = MonotonicClock(), configuration: Configuration) {
    self.world = world
    self.clock = clock
    self.configuration = configuration
  }

  /// Opens the receiver's port, and creates its tty unless it exists. Closing the port removes the tty.
  func open(speed: BaudRate) throws(HardwareError) -> any SerialPort {
    ReceiverPort(port: try LinuxSerialPort(try plugIn(), speed: speed)) { [self] in hangUp() }
  }

  /// Creates the receiver's tty unless it exists. Returns its path.
  public func plugIn() throws(HardwareError) -> String {
    try state.withLock { (state) throws(HardwareError) -> String in
      if let terminal = state.terminal { return terminal.path }
      let (controller, path) = try PseudoTerminalController.open()
      let terminal = Terminal(controller: controller, path: path)
      state.terminal = terminal
      startIfNeeded(&state)
      return terminal.path
    }
  }

  public func setPower(_ isOn: Bool) {
    state.withLock { state in
      state.isPowered = isOn
      if isOn { startIfNeeded(&state) } else { stopThread(&state) }
    }
  }

  /// Mutes the receiver: it has its supply but sends nothing, as with a broken wire.
  public func setMuted(_ isMuted: Bool) {
    state.withLock { state in
      state.isMuted = isMuted
      if isMuted { stopThread(&state) } else { startIfNeeded(&state) }
    }
  }

  /// The number of bytes sent, over all runs.
  public var bytesWritten: Int { written.load(ordering: .relaxed) }

  /// Closes the port, as if the cable were pulled. The reader sees a hang-up.
  public func hangUp() {
    state.withLock { state in
      stopThread(&state)
      if let terminal = state.terminal { close(terminal.controller) }
      state.terminal = nil
    }
  }

  private func startIfNeeded(_ state: inout State) {
    guard state.isPowered, !state.isMuted, state.stop == nil, let terminal = state.terminal else { return }
    let stop = StopSignal()
    // The thread gets its own descriptor, because it may still be writing when the terminal is closed.
    let output = fcntl(terminal.controller, F_DUPFD_CLOEXEC, 0)
    guard stop.fileDescriptor >= 0, output >= 0 else { return }
    state.stop = stop
    ReceiverTransmitter(world: world, clock: clock, configuration: configuration, output: output, stop: stop) {
      [weak self] in self?.written.add($0, ordering: .relaxed)
    }.start()
  }

  private func stopThread(_ state: inout State) {
    state.stop?.set()
    state.stop = nil
  }
}

/// The hub's end of the line. Closing it removes the pseudo-terminal.
private final class ReceiverPort: SerialPort {
  private let port: LinuxSerialPort
  private let onClose: @Sendable () -> Void

  init(port: LinuxSerialPort, onClose: @escaping @Sendable () -> Void) {
    self.port = port
    self.onClose = onClose
  }

  deinit { close() }

  var name: String { port.name }
  var fileDescriptor: Int32 { port.fileDescriptor }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int { try port.read(into: buffer) }
  func write(_ bytes: [UInt8]) throws(HardwareError) { try port.write(bytes) }
  func writeNow(_ bytes: ArraySlice<UInt8>) throws(HardwareError) -> Int { try port.writeNow(bytes) }
  var unsentCount: Int { port.unsentCount }
  func setSpeed(_ speed: BaudRate) throws(HardwareError) { try port.setSpeed(speed) }

  func close() {
    guard port.fileDescriptor >= 0 else { return }
    port.close()
    onClose()
  }
}

/// A running receiver: a thread that writes the sentences of each epoch until it is stopped.
final class ReceiverTransmitter: Sendable {
  private let world: World
  private let clock: any MonotonicTimeSource
  private let configuration: SimulatedReceiver.Configuration
  private let output: Int32
  private let stop: StopSignal

  private let onWritten: @Sendable (Int) -> Void

  /// - Parameters:
  ///   - output: closed when the thread ends
  ///   - onWritten: receives the number of bytes written
  init(
    world: World, clock: any MonotonicTimeSource, configuration: SimulatedReceiver.Configuration, output: Int32,
    stop: StopSignal, onWritten: @escaping @Sendable (Int) -> Void
  ) {
    self.world = world
    self.clock = clock
    self.configuration = configuration
    self.output = output
    self.stop = stop
    self.onWritten = onWritten
  }

  func start() {
    if DetachedThread.start("simulated gps", { self.run() }) != 0 { close(output) }
  }

  private func run() {
    defer { close(output) }
    let poller = Poller(stop: stop.fileDescriptor, clock: clock)
    var noise = Noise(seed: 1)
    var error = SIMD3<Double>.zero
    let satellites = SimulatedSatellite.all.filter { $0.system == .gps }
    let poweredAt = clock.now
    while true {
      let now = clock.now
      let isUnderground = configuration.tunnel?.contains(now - world.start) ?? false
      let hasFix = now - poweredAt >= configuration.timeToFirstFix && !isUnderground
      // The position error of a receiver changes over tens of seconds.
      error = error * 0.98 + noise.vector(configuration.positionSigmaMetres * 0.2)
      let solution = Solution(
        world.truth(at: now), error: error, utc: utc(), hasTime: true, hasFix: hasFix,
        sigmaMetres: configuration.positionSigmaMetres, satellites: satellites, runTime: now - poweredAt)
      var bytes = SolutionSentences(solution, isModern: true)(
        hasFix ? [.rmc, .vtg, .gga, .gsa, .gsv, .gst] : [.rmc, .gga, .gsa])
      // If the buffer is full because no program reads, bytes are lost, as with a UART.
      let count = bytes.withUnsafeMutableBytes { Glibc.write(output, $0.baseAddress, $0.count) }
      onWritten(max(count, 0))
      // Receivers measure at whole fractions of a second.
      let interval = Int64(1e9 / (hasFix ? configuration.rateHz : 2))
      let rest = interval - configuration.satelliteTime() % interval
      if poller.wait(for: nil, atMost: .nanoseconds(rest)) == .stopped { return }
    }
  }

  private func utc() -> UTCTime {
    // The time is rounded down to hundredths of a second, the resolution of the sentences.
    UTCTime(nanosecondsSince1970: configuration.satelliteTime() / 10_000_000 * 10_000_000)
  }
}
