import ArgumentParser

/// A duration such as `90`, `90s`, `10m` or `1.5h`, from 0.1 s to 366 days. Without a unit it is in seconds.
struct DurationOption: ExpressibleByArgument {
  var duration: Duration

  init?(argument: String) {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600]
    let unit = argument.last.flatMap { units[$0] }
    let number = unit == nil ? argument[...] : argument.dropLast()
    guard number.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let value = Double(number) else {
      return nil
    }
    let seconds = value * (unit ?? 1)
    guard (0.1...366 * 86_400).contains(seconds) else { return nil }
    duration = .nanoseconds(Int64(seconds * 1e9))
  }
}
