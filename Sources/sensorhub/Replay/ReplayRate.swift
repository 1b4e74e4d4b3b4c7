import ArgumentParser

/// The value of `--rate`: a multiple of the recorded speed such as `10` or `0.5`, or `max`.
enum ReplayRate: ExpressibleByArgument {
  case times(Double)
  case max

  init?(argument: String) {
    if argument == "max" {
      self = .max
    } else if let factor = Double(argument), (0.01...1000).contains(factor) {
      self = .times(factor)
    } else {
      return nil
    }
  }

  var defaultValueDescription: String {
    switch self {
    case .times(let factor): factor == 1 ? "1" : "\(factor)"
    case .max: "max"
    }
  }
}
