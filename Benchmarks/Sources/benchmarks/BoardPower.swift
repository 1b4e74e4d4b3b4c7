/// The power of a board that a hub runs on, by published measurements. The board is on all day in each comparison.
struct BoardPower: Sendable {
  let name: String
  /// The power while the board is idle, without screen, keyboard and network cable.
  let idleWatts: Double

  /// The sources:
  /// - Zero 2 W: 120 mA at 5 V (CNX Software, "A deep dive into Raspberry Pi Zero 2 W's power consumption", 2021).
  /// - Pi 4: the middle of 2.2 to 2.4 W, which users report for an idle board.
  /// - Pi 5: about 3 W (U-Labs, "So verbraucht der Raspberry Pi 5 ausgeschaltet bis zu 180x weniger Strom", 2024).
  static let all = [
    BoardPower(name: "Zero 2 W", idleWatts: 0.6), BoardPower(name: "Pi 4", idleWatts: 2.3),
    BoardPower(name: "Pi 5", idleWatts: 3),
  ]

  /// The energy of a day, milliwatt-hours.
  var milliwattHoursPerDay: Double { idleWatts * 24 * 1000 }
}
