extension Double {
  /// The number for a message, without decimals if it is whole: `40`, `0.5`.
  var messageText: String { self == rounded() ? "\(Int(self))" : "\(self)" }
}

extension ClosedRange<Double> {
  /// The range for a message: `1 to 100000`.
  package var messageText: String { "\(lowerBound.messageText) to \(upperBound.messageText)" }
}
