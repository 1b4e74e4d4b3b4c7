import CLinux
import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import NMEA

/// The running receiver: writes an epoch's sentences at each tick until it is stopped.
final class ReceiverTransmitter: Sendable {
  private let world: World
  private let clock: any MonotonicTimeSource
  private let configuration: SimulatedReceiver.Configuration
  private let output: Int32
  private let stop: StopSignal

  private let onWritten: @Sendable (Int) -> Void

  /// - Parameters:
  ///   - output: closed when the thread ends
  ///   - onWritten: told how many bytes went out
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
    let poweredAt = clock.now
    while true {
      let now = clock.now
      let isUnderground = configuration.tunnel?.contains(now - world.start) ?? false
      let hasFix = now - poweredAt >= configuration.timeToFirstFix && !isUnderground
      // Errors of a receiver wander over tens of seconds.
      error = error * 0.98 + noise.vector(configuration.positionSigmaMetres * 0.2)
      let sentences = hasFix ? fix(world.truth(at: now), error, utc()) : noFix(utc())
      var bytes = Array(sentences.utf8)
      // A full buffer, because nobody reads, loses bytes, as a UART does.
      let count = bytes.withUnsafeMutableBytes { Glibc.write(output, $0.baseAddress, $0.count) }
      onWritten(max(count, 0))
      // Receivers measure at whole parts of a second.
      let interval = Int64(1e9 / (hasFix ? configuration.rateHz : 2))
      let rest = interval - clinux_realtime_ns() % interval
      if poller.wait(for: nil, atMost: .nanoseconds(rest)) == .stopped { return }
    }
  }

  private func utc() -> UTCTime {
    // Whole hundredths: what the sentences can carry.
    UTCTime(nanosecondsSince1970: clinux_realtime_ns() / 10_000_000 * 10_000_000)
  }

  private func noFix(_ utc: UTCTime) -> String {
    let time = SentenceField.time(utc)
    return SentenceWriter.make("GNRMC,\(time),V,,,,,,,\(SentenceField.date(utc)),,,N,V")
      + SentenceWriter.make("GNGGA,\(time),,,,,0,00,99.99,,,,,,")
      + SentenceWriter.make("GNGSA,A,1,,,,,,,,,,,,,99.99,99.99,99.99,1")
  }

  private func fix(_ truth: World.Truth, _ error: SIMD3<Double>, _ utc: UTCTime) -> String {
    let metresPerDegree = 111_319.49
    let latitude = truth.latitudeDegrees + error.x / metresPerDegree
    let longitude = truth.longitudeDegrees + error.y / (metresPerDegree * cos(latitude * .pi / 180))
    let position = SentenceField.coordinate(latitude, longitude)
    let velocity = truth.velocityMetresPerSecond
    let speed = (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot()
    var track = atan2(velocity.y, velocity.x) * 180 / .pi
    if track < 0 { track += 360 }
    let knots = SentenceField.fixed(speed * 3600 / 1852, 3)
    let course = speed > 0.2 ? SentenceField.fixed(track, 2) : ""
    let separation = EarthModel.geoidSeparationMetres(
      at: Coordinate(latitudeDegrees: latitude, longitudeDegrees: longitude))
    let altitude = SentenceField.fixed(truth.altitudeHAEMetres - separation - error.z, 1)
    let time = SentenceField.time(utc)
    let sigma = SentenceField.fixed(configuration.positionSigmaMetres, 1)
    return SentenceWriter.make("GNRMC,\(time),A,\(position),\(knots),\(course),\(SentenceField.date(utc)),,,A,V")
      + SentenceWriter.make("GNVTG,\(course),T,,M,\(knots),N,\(SentenceField.fixed(speed * 3.6, 3)),K,A")
      + SentenceWriter.make(
        "GNGGA,\(time),\(position),1,08,0.90,\(altitude),M,\(SentenceField.fixed(separation, 1)),M,,")
      + SentenceWriter.make("GNGSA,A,3,02,05,12,13,15,18,24,29,,,,,1.60,0.90,1.32,1")
      + SentenceWriter.make("GPGSV,2,1,08,02,62,105,45,05,31,051,41,12,48,301,43,13,22,182,37,1")
      + SentenceWriter.make("GPGSV,2,2,08,15,71,230,47,18,12,321,33,24,38,263,42,29,17,089,35,1")
      + SentenceWriter.make(
        "GNGST,\(time),6.0,,,,\(sigma),\(sigma),\(SentenceField.fixed(configuration.positionSigmaMetres * 1.6, 1))")
  }
}
