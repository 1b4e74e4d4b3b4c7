import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import NMEA

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
