import Glibc
import HardwareIO
import TestSupport
import Testing
import VirtualBench

extension HardwareInTheLoop {
  /// A changed board file, and the lines of the devices that it does not change.
  @Suite(
    .serialized, .timeLimit(.minutes(60)), .enabled(if: Bench.isVirtual, "these need the kernel's record of lines"))
  struct ReloadTests {
    private let board = Bench.board

    /// The devices that a reload changes. The receiver has a supply of its own. The chips share the supply of the IMU.
    enum Change: String, CaseIterable {
      case chipBesideTheIMU, imu
    }

    /// The board files in turn. Each differs from the one before in one device.
    private func boardFile(_ change: Change, _ round: Int) -> String {
      var settings = Bench.Settings()
      switch change {
      case .imu:
        settings.imuRateHz = round % 2 == 0 ? 200 : 100
        return Bench.boardFile(settings)
      case .chipBesideTheIMU:
        settings.hasOthers = true
        let text = Bench.boardFile(settings)
        // A rate of its own for the barometer, no barometer, or the original.
        return switch round % 3 {
        case 1: text.replacing("baro: { ", with: "baro: { rateHz: 40, ")
        case 2: withoutBarometer(text)
        default: text
        }
      }
    }

    private func withoutBarometer(_ text: String) -> String {
      guard let start = text.firstRange(of: "baro: {")?.lowerBound,
        let end = text.firstRange(of: "meter: {")?.lowerBound
      else { return text }
      return String(text[..<start] + text[end...])
    }

    /// The states that a client of all parts gets must not be interrupted either.
    @Test(arguments: Change.allCases)
    func `a hundred reloads that change one device move no line of the others`(_ change: Change) throws {
      let hub = Bench.hub(change == .imu ? .init() : .init(hasOthers: true))
      let kept = change == .imu ? ["gps"] : ["gps", "imu", "mag"]
      let lines = change == .imu ? [VirtualBoard.gpsPower] : [VirtualBoard.gpsPower, VirtualBoard.imuPower]
      let requests = try LineRequests(of: board.chip.path, lines: [VirtualBoard.gpsPower, VirtualBoard.imuPower])
      let subscriber = Subscriber(hub)
      let isTracking = { (ids: [String]) in
        let devices = hub.devicesNow.devices
        return ids.allSatisfy { id in devices.contains { $0.id == id && $0.power == "tracking" } }
      }
      let changed = change == .imu ? "imu" : "baro"
      #expect(eventually { isTracking(kept + [changed]) }, "\(states(hub))")
      // Nothing that has happened until now counts.
      _ = requests.take("")
      for line in lines { _ = requests.take(line) }
      let (gpsBefore, imuBefore) = (board.gpsLine.all.count, board.imuLine.all.count)
      let wakes = kept.map { hub.devicesNow[$0].wakes }
      var moves = 0
      for round in 1...100 {
        HubProcess.write(boardFile(change, round), to: hub.boardFile)
        hub.program.send(SIGHUP)
        let isReloaded = eventually(within: .seconds(30)) {
          hub.program.standardError.ranges(of: "' reloaded\n").count >= round
        }
        #expect(isReloaded, "round \(round): \(hub.program.standardError.suffix(2000))")
        if !isReloaded { break }
        subscriber.forget()
        // In most rounds the changed device works again before the next reload, and in some it is still starting.
        let isGone = change == .chipBesideTheIMU && round % 3 == 2
        if round % 4 != 0, !isGone {
          #expect(eventually(within: .seconds(60)) { isTracking([changed]) }, "\(states(hub))")
        }
        let names = [VirtualBoard.gpsPower, VirtualBoard.imuPower]
        let events = names.map { requests.take($0) }
        for (name, events) in zip(names, events) where lines.contains(name) {
          #expect(events.isEmpty, "round \(round): the kernel saw \(events) of \(name); \(states(hub))")
        }
        if change == .imu { moves += events[1].count }
        #expect(board.gpsLine.isHigh, "round \(round): \(states(hub))")
        #expect(
          eventually(within: .seconds(10)) { subscriber.lineCount > 0 },
          "round \(round): no more states; \(states(hub))")
      }
      #expect(eventually { isTracking(kept) }, "\(states(hub))")
      #expect(board.gpsLine.all.count == gpsBefore, "\(board.gpsLine.all)")
      if change == .chipBesideTheIMU { #expect(board.imuLine.all.count == imuBefore, "\(board.imuLine.all)") }
      let after = kept.map { hub.devicesNow[$0].wakes }
      #expect(after == wakes, "\(kept) woke \(wakes) times before and \(after) times after the reloads")
      Bench.saw(
        "\(change.rawValue) changed 100 times: no request, release or change of \(lines.joined(separator: ", ")), "
          + "\(kept.joined(separator: ", ")) woken \(after) times"
          + (change == .imu ? "; \(moves) of the line of the IMU" : ""))
      subscriber.leave()
      #expect(hub.stop() == 0)
      #expect(eventually { !board.gpsLine.isHigh && !board.imuLine.isHigh })
    }

    private func states(_ hub: HubProcess) -> String {
      hub.devicesNow.devices.map { "\($0.id) \($0.power) (\($0.reason))" }.joined(separator: ", ")
    }
  }
}
