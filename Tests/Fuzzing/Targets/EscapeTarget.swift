@testable import Hub
@testable import Outputs

/// A chosen name in pages, metrics, units and terminals. Each must contain exactly the name when it is read back.
enum EscapeTarget {
  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    let text = String(decoding: input, as: UTF8.self)
    requirePage(text)
    requireMetric(text)
    requireTerminal(text)
    if let word = UnitText.word(text) {
      require(DropInTarget.words(word) == [text], "a word that systemd reads otherwise: \(word)")
    }
    let instance = UnitText.instance(text)
    require(instance.utf8.allSatisfy { 0x21..<0x7F ~= $0 && $0 != UInt8(ascii: "%") }, "an instance \(instance)")
    let command = ShellText.word(text)
    require(
      command == text && !text.isEmpty || command.utf8.first == UInt8(ascii: "'"),
      "a shell's word without quotes: \(command)")
  }

  private static func requirePage(_ text: String) {
    let page = HTMLText.filled(Array("<p a=\"{{a}}\">".utf8), ["a": text])
    let escaped = String(decoding: page.dropFirst(6).dropLast(2), as: UTF8.self)
    require(escaped.unicodeScalars.allSatisfy { !"<>\"'\0".unicodeScalars.contains($0) }, "a page with \(escaped)")
    var read = ""
    var entity: String?
    for scalar in escaped.unicodeScalars {
      if scalar == "&" {
        require(entity == nil, "an & in an entity")
        entity = ""
      } else if let name = entity, scalar == ";" {
        guard let meant = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "#39": "'"][name] else {
          fatalError("an entity \(name)")
        }
        read += meant
        entity = nil
      } else if let name = entity {
        entity = name + String(scalar)
      } else {
        read.unicodeScalars.append(scalar)
      }
    }
    let meant = text.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }
    require(entity == nil && read.unicodeScalars.elementsEqual(meant), "a page that says \(read)")
  }

  /// Follows the rules of the format's own parser: a value ends at the first quote without a backslash, and a line at
  /// its end.
  private static func requireMetric(_ text: String) {
    var read = String.UnicodeScalarView()
    var isEscaped = false
    for scalar in PrometheusText.label(text).unicodeScalars {
      if isEscaped {
        require("\\\"n".unicodeScalars.contains(scalar), "an escape \(scalar)")
        read.append(scalar == "n" ? "\n" : scalar)
        isEscaped = false
      } else {
        require(scalar != "\"" && scalar != "\n", "a label that ends early")
        if scalar == "\\" { isEscaped = true } else { read.append(scalar) }
      }
    }
    require(!isEscaped && read.elementsEqual(text.unicodeScalars), "a label that says something else")
    require(
      PrometheusText.name(text).utf8.allSatisfy { $0 == 0x5F || 0x30...0x39 ~= $0 || 0x61...0x7A ~= $0 }, "a name")
  }

  private static func requireTerminal(_ text: String) {
    func isSafe(_ shown: String) -> Bool {
      shown.unicodeScalars.allSatisfy { $0 == "\n" || $0 == "\t" || !Text.isHidden($0) }
    }
    require(isSafe(Text.printableLines(text)), "lines that move a cursor")
    let line = Text.printable(text)
    require(isSafe(line) && !line.unicodeScalars.contains { $0 == "\n" || $0 == "\t" }, "a text of several lines")
    require(
      !XMLText.escaped(text).unicodeScalars.contains { Text.isHidden($0) || $0 == "<" }, "XML in which something hides")
    var json = JSONWriter()
    json.beginObject()
    json.member("a", text)
    json.endObject()
    let written = String(decoding: json.bytes, as: UTF8.self)
    require(written.unicodeScalars.allSatisfy { !Text.isHidden($0) }, "JSON in which something hides")
    requireSays(text, written)
    requireSays(text, Text.printableJSON(written))
  }

  private static func requireSays(_ text: String, _ json: String) {
    guard let value = try? JSON5Parser.parse(Array(json.utf8)), case .object(let members) = value.content,
      case .string(let read) = members.first?.value.content, read.unicodeScalars.elementsEqual(text.unicodeScalars)
    else { fatalError("JSON that says something else: \(json)") }
  }
}
