import MonotonicTime
@testable import NMEA
import Testing

@testable import Devices

/// The kinds and the times of the restarts of a receiver that does not work.
struct RestartPolicyTests {
  private typealias Advice = RestartPolicy.Advice

  private func second(_ second: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: second * 1_000_000_000) }

  /// Returns when and how a receiver in lasting trouble is restarted, if it is observed each second.
  private func tries(
    _ trouble: RestartPolicy.Trouble, canBeTold: Bool, isSwitched: Bool, until end: Int64
  ) -> [(second: Int64, restart: ReceiverRestart)] {
    var restartPolicy = RestartPolicy()
    return (0..<end).compactMap { now in
      let advice = restartPolicy.advise(trouble, at: second(now), canBeTold: canBeTold, isSwitched: isSwitched)
      if case .restart(let restart) = advice { return (now, restart) }
      return nil
    }
  }

  @Test func `restarts of a frozen receiver go from hot to cold, become rarer, and end after the eighth`() {
    let found = tries(.frozen(.position), canBeTold: true, isSwitched: false, until: 50_000)
    #expect(found.map(\.restart) == [.hot, .warm, .cold, .cold, .cold, .cold, .cold, .cold])
    #expect(found.map(\.second) == [0, 60, 180, 420, 900, 1860, 3780, 7380])
  }

  @Test func `a receiver with a switched supply is restarted by its supply`() {
    let found = tries(.frozen(.time), canBeTold: true, isSwitched: true, until: 50_000)
    #expect(found.count == RestartPolicy.mostTries && found.allSatisfy { $0.restart == .power })
  }

  @Test func `a receiver without a position first forgets its data, and loses its supply last`() {
    #expect(tries(.search, canBeTold: true, isSwitched: true, until: 300).map(\.restart) == [.warm, .cold, .power])
    #expect(tries(.search, canBeTold: true, isSwitched: false, until: 300).map(\.restart) == [.warm, .cold, .cold])
    #expect(tries(.search, canBeTold: false, isSwitched: true, until: 100).map(\.restart) == [.power, .power])
  }

  @Test func `a receiver without commands and without a switched supply is not restarted`() {
    var restartPolicy = RestartPolicy()
    let advice = restartPolicy.advise(.frozen(.position), at: second(0), canBeTold: false, isSwitched: false)
    #expect(advice == .hopeless && restartPolicy.tries == 0)
  }

  @Test func `the restarts begin again with the mildest one only after the receiver has worked for ten minutes`() {
    func restarts(afterWorkingFor seconds: Int64) -> Advice {
      var restartPolicy = RestartPolicy()
      _ = restartPolicy.advise(.frozen(.position), at: second(0), canBeTold: true, isSwitched: false)
      for now in 0...seconds { restartPolicy.works(at: second(10 + now)) }
      return restartPolicy.advise(.frozen(.position), at: second(11 + seconds), canBeTold: true, isSwitched: false)
    }
    #expect(restarts(afterWorkingFor: 30) == .wait)
    #expect(restarts(afterWorkingFor: 500) == .restart(.warm))
    #expect(restarts(afterWorkingFor: 600) == .restart(.hot))
  }

  @Test func `the sleep between two runs does not count as work`() {
    var restartPolicy = RestartPolicy()
    _ = restartPolicy.advise(.frozen(.position), at: second(0), canBeTold: true, isSwitched: false)
    for visit in Int64(1)...20 {
      restartPolicy = restartPolicy.resumed
      for now in Int64(0)...5 { restartPolicy.works(at: second(900 * visit + now)) }
    }
    // The receiver has worked for a hundred seconds in five hours.
    #expect(restartPolicy.tries == 1 && restartPolicy.hasRecovered)
    let advice = restartPolicy.advise(.frozen(.position), at: second(20_000), canBeTold: true, isSwitched: false)
    #expect(advice == .restart(.warm) && !restartPolicy.hasRecovered)
  }

  // MARK: Unsuccessful searches

  private func observation(
    _ at: Int64, satellites: Int, strength: UInt8 = 40, hasFix: Bool = false
  ) -> GNSSObservation {
    var fix = GNSSFix()
    fix.mode = hasFix ? .threeDimensional : .noFix
    let sky = (0..<satellites).compactMap { number in
      SatelliteNumber(number + 1, system: .gps).map {
        Satellite(
          number: $0, signal: 0, elevationDegrees: 45, azimuthDegrees: 90, signalStrength: strength, isUsed: false)
      }
    }
    return GNSSObservation(at: second(at), fix: fix, sky: sky)
  }

  /// Whether a receiver's search counts as failed after three minutes, with an observation a second.
  private func isVain(_ observation: (Int64) -> GNSSObservation) -> Bool {
    var watch = FailedSearchDetector()
    for now in Int64(0)..<180 { watch.take(observation(now)) }
    return watch.isVain(at: second(180))
  }

  @Test func `a receiver that receives satellites for two minutes without a position counts as failed`() {
    #expect(isVain { observation($0, satellites: 6) })
    // Not all epochs list satellites.
    #expect(isVain { observation($0, satellites: $0 % 5 == 0 ? 6 : 0) })
  }

  /// Whether a receiver's search counts as failed after some runs of 45 s, with an observation a second.
  private func isVain(visits: Int, _ observation: (_ visit: Int, _ now: Int64, _ age: Int64) -> GNSSObservation)
    -> Bool
  {
    var (watch, isVain) = (FailedSearchDetector(), false)
    for visit in 0..<visits {
      watch = watch.resumed
      for age in Int64(0)..<45 {
        let now = Int64(visit) * 900 + age
        watch.take(observation(visit, now, age))
        isVain = isVain || watch.isVain(at: second(now))
      }
    }
    return isVain
  }

  @Test func `short runs add up, unless the receiver finds a position or receives too few satellites`() {
    #expect(!isVain(visits: 2) { _, now, _ in observation(now, satellites: 6) })
    #expect(isVain(visits: 3) { _, now, _ in observation(now, satellites: 6) })
    // A receiver receives no satellites right after its start, and a receiver that lists no satellites gives no evidence.
    #expect(isVain(visits: 4) { _, now, age in observation(now, satellites: age < 5 ? 2 : 6) })
    #expect(isVain(visits: 4) { visit, now, _ in observation(now, satellites: visit == 1 ? 0 : 6) })
    #expect(!isVain(visits: 4) { visit, now, age in observation(now, satellites: 6, hasFix: visit == 1 && age == 9) })
    #expect(!isVain(visits: 4) { visit, now, _ in observation(now, satellites: visit == 1 ? 3 : 6) })
  }

  @Test func `a search does not fail under a roof, with a fix, or within two minutes`() {
    #expect(!isVain { observation($0, satellites: 4) })
    #expect(!isVain { observation($0, satellites: 8, strength: 22) })
    #expect(!isVain { observation($0, satellites: 8, hasFix: $0 == 30) })
    #expect(!isVain { observation($0, satellites: $0 < 100 ? 3 : 8) })
    #expect(!isVain { observation($0, satellites: $0 < 150 ? 8 : 0) })
  }
}
