import FoundationEssentials
import Guarding
import MonotonicTime
import Publishing
import TestSupport
import Testing

/// The example of the library's page (`Example.swift`) behaves as the page describes.
@Suite(.timeLimit(.minutes(10)))
struct ExampleTests {
  /// A thermometer with readings from the test.
  private final class PlayedThermometer: Thermometer {
    let power = Recorder<Bool>()
    private let readings = Guarded<[Double?]>([])

    func switchPower(on: Bool) { power.append(on) }

    /// - Parameter reading: `nil` for a thermometer that is unplugged
    func play(_ reading: Double?) { readings.withLock { $0.append(reading) } }

    func nextReading(_ stop: StopSignal) throws(ThermometerError) -> Double? {
      hold { stop.isSet || readings.withLock { !$0.isEmpty } }
      if stop.isSet { return nil }
      guard let reading = readings.withLock({ $0.removeFirst() }) else { throw .unplugged }
      return reading
    }
  }

  private let clock = ManualClock()
  private let thermometer = PlayedThermometer()

  @Test func `the example shows readings at its interval and powers the thermometer only in the meantime`() async {
    let celsius = readings(of: thermometer, clock: clock)
    let shown = Recorder<String>()
    let display = show(celsius, clock: clock) { shown.append($0) }
    thermometer.play(3.5)
    #expect(await shown.first(1) == ["3.5 °C"])
    // A later subscriber receives a reading after the display does.
    let heard = Recorder<Double>()
    let listener = celsius.subscribe(as: "listener", receiveValue: { heard.append($0) }, receiveCompletion: { _ in })
    thermometer.play(3)
    thermometer.play(2.5)
    _ = await heard.values { $0.contains(2.5) }
    listener.cancel()
    clock.advance(by: .seconds(10))
    #expect(await shown.first(2) == ["3.5 °C", "2.5 °C"])
    display.cancel()
    #expect(thermometer.power.values == [true])
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    #expect(await thermometer.power.first(2) == [true, false])
  }

  @Test func `the example keeps waiting for frost after a failure`() async {
    let celsius = readings(of: thermometer, clock: clock)
    let shown = Recorder<String>()
    let display = show(celsius, clock: clock) { shown.append($0) }
    let waiting = Task { [clock] in await frost(celsius, clock: clock) }
    for await activity in celsius.activity.values(as: "test") where activity.subscriberCount == 2 { break }
    #expect(celsius.holders == ["display", "frost"])
    thermometer.play(1)
    thermometer.play(nil)
    #expect(await shown.first(2) == ["1.0 °C", "no thermometer"])
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    thermometer.play(-0.5)
    #expect(await waiting.value == -0.5)
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    #expect(await thermometer.power.first(4) == [true, false, true, false])
    display.cancel()
  }

  @Test func `the documentation shows the example as it is compiled`() throws {
    let tests = #filePath.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
    let page = try text("\(tests)/../../Sources/Publishing/Publishing.docc/Publishing.md")
    let example = try text("\(tests)/Example.swift")
    #expect(page.contains("```swift\n\(example)```\n"))
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
  }
}
