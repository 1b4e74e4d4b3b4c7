import HardwareIO

@testable import Hub
@testable import Outputs

/// The drop-in that opens the service's sandbox for a board file. For any board file it contains only permitted
/// settings, each with values of its kind.
enum DropInTarget {
  private static let machine = MachineFiles(root: "/nowhere")

  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    guard let board = try? Board(json5: Array(input), file: "board") else { return }
    var section = ""
    var paths: [String] = []
    for line in DevicePolicy(board, on: machine).dropIn.utf8.split(separator: UInt8(ascii: "\n")) {
      let line = String(decoding: line, as: UTF8.self)
      require(
        line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "a control character: \(line)")
      if line.utf8.first == UInt8(ascii: "#") { continue }
      if line.utf8.first == UInt8(ascii: "[") {
        require(line == "[Unit]" || line == "[Service]", "a section \(line)")
        section = line
        continue
      }
      let parts = line.unicodeScalars.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
        String.init)
      require(parts.count == 2, "no setting: \(line)")
      switch (section, parts[0]) {
      case ("[Unit]", "Conflicts"): require(words(parts[1]).count == 1, line)
      case ("[Service]", "DeviceAllow"): require(words(parts[1]).count == 2 && parts[1].hasSuffix(" rw"), line)
      case ("[Service]", "ProtectKernelTunables"): require(parts[1] == "no", line)
      case ("[Service]", "RestrictAddressFamilies"): require(["AF_INET AF_INET6", "AF_CAN"].contains(parts[1]), line)
      case ("[Service]", "IPAddressAllow"): require(words(parts[1]) == [parts[1]], line)
      case ("[Service]", "ReadWritePaths"): paths += words(parts[1])
      default: fatalError("a setting that there may not be: \(line)")
      }
    }
    let wanted = board.record.flatMap { UnitText.path($0.path, isOptional: true) == nil ? nil : "-" + $0.path }
    require(paths == [wanted].compactMap { $0 }, "other paths than the board's: \(paths)")
  }

  /// Splits a setting into words by the rules of systemd.syntax(7). Of its specifiers, only `%%` may appear.
  static func words(_ setting: String) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Unicode.Scalar?
    var (isEscaped, isSpecifier) = (false, false)
    for scalar in setting.unicodeScalars {
      if isSpecifier { require(scalar == "%", "a specifier in \(setting)") }
      if scalar == "%", !isSpecifier {
        isSpecifier = true
        continue
      }
      isSpecifier = false
      if isEscaped {
        word = (word ?? "") + String(scalar)
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else if scalar == quote {
        quote = nil
      } else if quote == nil, scalar == "\"" || scalar == "'" {
        (quote, word) = (scalar, word ?? "")
      } else if quote == nil, scalar == " " || scalar == "\t" {
        if let word { words.append(word) }
        word = nil
      } else {
        word = (word ?? "") + String(scalar)
      }
    }
    require(quote == nil && !isEscaped && !isSpecifier, "a setting that goes on: \(setting)")
    return words + [word].compactMap { $0 }
  }
}
