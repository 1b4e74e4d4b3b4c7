import Glibc

/// The possible values of a setting: a list, or a range with a step. A value is written back in the kernel's own
/// notation, because some drivers accept no other text for the same number.
public enum IIOChoices: Equatable, Sendable {
  public struct Choice: Equatable, Sendable {
    public var text: String
    public var value: Double
  }

  /// A list of values above 0, which is not empty.
  case list([Choice])
  case range(least: Double, step: Double, most: Double)

  /// `nil` if the text is neither a list with a number above 0 nor a range `[least step most]` whose `most` is above 0.
  /// Other numbers in a list are left out.
  public init?(_ text: String) {
    let isRange = text.hasPrefix("[") && text.hasSuffix("]")
    let inside = isRange ? text.dropFirst().dropLast() : text[...]
    var choices: [Choice] = []
    for word in inside.split(separator: " ") {
      guard let value = Double(word), value.isFinite else { return nil }
      choices.append(Choice(text: String(word), value: value))
    }
    if isRange {
      guard choices.count == 3, choices[0].value <= choices[2].value, choices[2].value > 0 else { return nil }
      self = .range(least: choices[0].value, step: choices[1].value, most: choices[2].value)
    } else {
      // The value 0 means off.
      let usable = choices.filter { $0.value > 0 }
      if usable.isEmpty { return nil }
      self = .list(usable)
    }
  }

  /// Returns the slowest rate that is at least the requested rate. From a list, a rate up to 5 % below the requested
  /// one is accepted too. If all rates are slower, returns the fastest rate.
  public func slowest(for requested: Double) -> Choice {
    switch self {
    case .list(let choices):
      let enough = choices.filter { $0.value >= 0.95 * requested }
      return enough.min { $0.value < $1.value } ?? choices.max { $0.value < $1.value } ?? IIOChoices.exactly(requested)
    case .range(let least, let step, let most):
      let steps = step > 0 ? max(0, ((requested - least) / step - 1e-6).rounded(.up)) : 0
      return IIOChoices.exactly(min(step > 0 ? least + steps * step : max(least, requested), most))
    }
  }

  /// Returns the value of a list whose ratio to the requested value is closest to 1, or the value of a range with the
  /// smallest difference from it.
  public func nearest(to requested: Double) -> Choice {
    switch self {
    case .list(let choices):
      return choices.min { abs(log($0.value / requested)) < abs(log($1.value / requested)) }
        ?? IIOChoices.exactly(requested)
    case .range(let least, let step, let most):
      let steps = step > 0 ? max(0, ((requested - least) / step).rounded()) : 0
      return IIOChoices.exactly(min(step > 0 ? least + steps * step : max(least, requested), most))
    }
  }

  /// Makes a choice for a value above 0 that is not from a list. The text has six decimals, or none for a whole number,
  /// because some drivers accept only integers.
  static func exactly(_ value: Double) -> Choice {
    let (whole, millionths) = Int64((value * 1e6).rounded()).quotientAndRemainder(dividingBy: 1_000_000)
    guard millionths > 0 else { return Choice(text: "\(whole)", value: value) }
    let digits = "\(millionths)"
    return Choice(text: "\(whole).\(String(repeating: "0", count: 6 - digits.count))\(digits)", value: value)
  }
}

extension IIODevice {
  /// Sets the rate of a channel to the slowest available rate that suffices (`IIOChoices.slowest(for:)`).
  ///
  /// - Returns: the actual rate in hertz; `nil` if the channel has no rate in sysfs
  public func setRate(
    of channel: String, to requestedHz: Double, _ changes: inout IIOChanges
  ) throws(HardwareError) -> Double? {
    guard let path = attribute("sampling_frequency", of: channel) else { return nil }
    let choice =
      try choices("sampling_frequency", of: channel)?.slowest(for: requestedHz) ?? IIOChoices.exactly(requestedHz)
    try changes.set(choice.text, path)
    // The driver may have chosen another rate, so read it back.
    let actual = try system.files.number(path)
    return actual > 0 ? actual : choice.value
  }

  /// Gives a channel the available scale that is nearest to the requested one, if there is a choice.
  public func setScale(of channel: String, to requested: Double, _ changes: inout IIOChanges) throws(HardwareError) {
    guard let path = attribute("scale", of: channel), let choices = try choices("scale", of: channel) else { return }
    try changes.set(choices.nearest(to: requested).text, path)
  }
}
