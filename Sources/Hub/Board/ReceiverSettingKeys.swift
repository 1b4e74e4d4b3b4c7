import Devices
import HardwareIO

// The keys of a board file for receivers that take commands.
extension ReceiverSettings {
  /// Reads the settings of a receiver from its section, and checks them against the abilities of its driver.
  init(of driver: ReceiverDriver, _ section: inout BoardSection) throws(BoardError) {
    self.init()
    if let key = Key.allCases.first(where: { driver.lackingKeys.contains($0) && section.has($0.rawValue) }) {
      let able = ReceiverDriver.allCases.filter { !$0.lackingKeys.contains(key) }.map { "'\($0.rawValue)'" }
      throw section.wrong(
        key.rawValue,
        expected: "left out: driver '\(driver.rawValue)' cannot set it; drivers that can: "
          + able.joined(separator: ", "))
    }
    rateHz = try section.number("rateHz", in: 0.2...25)
    constellations = try section.choices("constellations", of: Constellation.self)
    dynamicModel = try section.choice("dynamicModel", of: DynamicModel.self)
    powerMode = try section.choice("powerMode", of: PowerMode.self)
    messages = try section.choice("messages", of: Messages.self)
    speed = try section.baudRate("setSpeed")
    saves = try section.boolean("saves") ?? false
    restores = try section.boolean("restores") ?? false
    if saves, restores {
      throw section.wrong("restores", expected: "left out with 'saves': the hub does not restore saved settings")
    }
  }
}

extension BoardSection {
  mutating func baudRate(_ key: String) throws(BoardError) -> BaudRate? {
    guard let number = try integer(key, in: 4800...921_600) else { return nil }
    guard let speed = BaudRate(rawValue: number) else {
      throw wrong(key, expected: "one of " + BaudRate.allCases.map { "\($0.rawValue)" }.joined(separator: ", "))
    }
    return speed
  }

  /// At least one word of a list, without repetitions.
  mutating func choices<Choice: RawRepresentable & CaseIterable>(
    _ key: String, of type: Choice.Type
  ) throws(BoardError) -> [Choice]? where Choice.RawValue == String {
    guard let words = try strings(key) else { return nil }
    let choices = words.compactMap { Choice(rawValue: $0) }
    guard !words.isEmpty, choices.count == words.count, Set(words).count == words.count else {
      let known = Choice.allCases.map(\.rawValue)
      let wrong = words.first { Choice(rawValue: $0) == nil }
      let nearest = wrong.flatMap { word in known.min { editDistance($0, word) < editDistance($1, word) } }
      let guess = wrong.flatMap { word in nearest.flatMap { editDistance($0, word) <= 1 + word.count / 2 ? $0 : nil } }
      throw self.wrong(
        key,
        expected: "a list of some of " + known.map { "'\($0)'" }.joined(separator: ", ")
          + (guess.map { "; did you mean '\($0)'?" } ?? ""))
    }
    return choices
  }
}
