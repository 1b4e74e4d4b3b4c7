import HardwareIO
import Testing

@testable import Devices

/// The work at the end of a run, and the settings that certainly fail.
struct RunEndingTests {
  private func configuration(
    isSwitched: Bool, restores: Bool = false, hasBackupBattery: Bool = true
  ) -> ReceiverConfiguration {
    var configuration = ReceiverConfiguration(driver: .ublox, isSwitched: isSwitched)
    configuration.settings.restores = restores
    configuration.hasBackupBattery = hasBackupBattery
    return configuration
  }

  @Test func `settings are restored unless the receiver loses its supply`() {
    let (supplied, switched) = (
      configuration(isSwitched: false, restores: true), configuration(isSwitched: true, restores: true)
    )
    #expect(RunEnding(supplied, rest: nil) == .settle(restores: true))
    #expect(RunEnding(switched, rest: nil) == .leave)
    #expect(RunEnding(switched, rest: .backup) == .settle(restores: true))
  }

  @Test func `satellite data is saved only if the supply goes off and no battery keeps it`() {
    let forgetful = configuration(isSwitched: true, hasBackupBattery: false)
    #expect(RunEnding(forgetful, rest: nil) == .saveKnowledge)
    #expect(RunEnding(forgetful, rest: .backup) == .settle(restores: false))
    #expect(RunEnding(configuration(isSwitched: true), rest: nil) == .leave)
  }

  @Test func `a receiver without commands is left alone`() {
    #expect(RunEnding(ReceiverConfiguration(driver: .nmea), rest: .backup) == .leave)
  }

  @Test func `a wrong speed and unknown settings are foreseen`() {
    var configuration = ReceiverConfiguration(driver: .casic, speed: .b9600)
    configuration.settings.powerMode = .saving
    let report = SettingReport(foreseenWith: configuration, .casic, foundAt: .b115200)
    #expect(report.problems.count == 2)
    #expect(report.problems.first?.hasPrefix("speed: the receiver was left at 115200") == true)
    #expect(report.problems.last == "powerMode: this receiver has no such setting: remove the key")
    configuration.settings.speed = .b115200
    #expect(SettingReport(foreseenWith: configuration, .casic, foundAt: .b115200).problems.count == 1)
  }
}
