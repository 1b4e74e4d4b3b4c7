import Guarding
import MonotonicTime
import Publishing

/// The interface of a driver: a device that can be switched on and off, and read.
protocol Thermometer: Sendable {
  func switchPower(on: Bool)
  /// Waits for the next reading in degrees Celsius. Returns `nil` when the caller must stop.
  func nextReading(_ stop: StopSignal) throws(ThermometerError) -> Double?
}

enum ThermometerError: Error { case unplugged }

/// The readings of a thermometer that has power while a client subscribes, and for one second after that.
func readings(
  of thermometer: some Thermometer, clock: some MonotonicTimeSource
) -> LazyPublisher<Double, ThermometerError> {
  LazyPublisher("thermometer", timing: LifecycleTiming(idleTimeout: .seconds(1)), replaysLatest: true, clock: clock) {
    (context) throws(ThermometerError) in
    thermometer.switchPower(on: true)
    defer { thermometer.switchPower(on: false) }
    while let celsius = try thermometer.nextReading(context.stop) { context.send(celsius) }
  }
}

/// Shows a reading every ten seconds for as long as the subscription lasts.
func show(
  _ readings: some Publisher<Double, ThermometerError>, clock: some MonotonicTimeSource,
  on display: @escaping @Sendable (String) -> Void
) -> Subscription {
  readings.throttled(to: .seconds(10), clock: clock).subscribe(
    as: "display", receiveValue: { display("\($0) °C") },
    receiveCompletion: { completion in
      if case .failed(.unplugged) = completion { display("no thermometer") }
    })
}

/// Waits for frost. After a failure it tries the thermometer again, after at most a minute.
func frost(_ readings: some Publisher<Double, ThermometerError>, clock: some MonotonicTimeSource) async -> Double? {
  let cold = readings.retrying(
    Backoff(initial: .seconds(1), maximum: .seconds(60)), hint: Empty<Void, Never>(completesImmediately: false),
    clock: clock
  ).first { $0 < 0 }
  for await celsius in cold.values(as: "frost") { return celsius }
  return nil
}
