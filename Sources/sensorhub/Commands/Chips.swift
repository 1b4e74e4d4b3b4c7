import ArgumentParser
import Devices
import Glibc
import Outputs

/// Lists the chips that the hub can read.
struct Chips: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the chips that the hub can read: their names in a board file, and how they are recognized.",
    discussion: """
      Each chip has a simulated twin. The column "proven against" names Linux's driver if that driver has read the same \
      values from the twin as the hub's driver. Otherwise it names the programs whose use of the registers was compared \
      with that of the hub's driver.

      If the terminal is too narrow, the last columns are left out. The list does not contain receivers (NMEA 0183, UBX \
      and CASIC) and devices of kernel drivers ("iio"); the hub reads these too.

      Example: sensorhub chips --json
      """)

  @Flag(help: "Print one JSON object per chip, one per line.")
  var json = false

  func run() {
    if json {
      for chip in CatalogueEntry.all {
        var writer = JSONWriter()
        Chips.write(chip, to: &writer)
        Terminal.standardOutput(json: String(decoding: writer.bytes, as: UTF8.self))
      }
      return
    }
    let lines =
      [["driver", "chip", "kind", "addresses", "rates", "FIFO", "identity", "proven against"]]
      + CatalogueEntry.all.map(Chips.columns)
    let widths = lines[0].indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    let columnCount = Chips.columnCount(
      of: widths, within: isatty(STDOUT_FILENO) == 1 ? TerminalSize.ofStandardOutput.columns : .max)
    for line in lines {
      let shown = line.prefix(columnCount)
      let padded = zip(shown, widths).dropLast().map { Text.padded($0, $1) }
      Terminal.standardOutput((padded + shown.suffix(1)).joined(separator: Chips.gap))
    }
    let leftOut = lines[0].dropFirst(columnCount)
    if !leftOut.isEmpty {
      Terminal.standardError(
        "the terminal is too narrow for \(leftOut.joined(separator: ", ")); --json prints all columns")
    }
  }

  private static let gap = "  "

  /// The number of columns that fit into a line. The first two are always shown.
  private static func columnCount(of widths: [Int], within limit: Int) -> Int {
    var count = widths.count
    while count > 2, widths[..<count].reduce(0, +) + (count - 1) * gap.count > limit { count -= 1 }
    return count
  }

  private static func columns(_ chip: CatalogueEntry) -> [String] {
    let values = chip.identity.values.map { $0.map(Chips.hexadecimal).joined(separator: " ") }
    return [
      chip.driver?.name ?? "", chip.title,
      chip.driver?.kind == .supplyMonitor ? "supply monitor" : chip.driver?.kind.rawValue ?? "",
      Chips.addresses(chip.addresses),
      "\(Chips.short(chip.ratesHz.lowerBound)) to \(Chips.short(chip.ratesHz.upperBound)) Hz",
      chip.fifoSampleCount > 0 ? "\(chip.fifoSampleCount) samples" : "none",
      chip.identity.toldBy.map { "by \($0)" }
        ?? "\(Chips.hexadecimal(chip.identity.register)) = \(values.joined(separator: ", "))",
      chip.provenAgainst,
    ]
  }

  /// The addresses as text, for example `0x68, 0x69` or `0x40 to 0x4f`.
  private static func addresses(_ addresses: [UInt8]) -> String {
    guard addresses.count > 3, let first = addresses.first, let last = addresses.last else {
      return addresses.map(hexadecimal).joined(separator: ", ")
    }
    return "\(hexadecimal(first)) to \(hexadecimal(last))"
  }

  private static func write(_ chip: CatalogueEntry, to json: inout JSONWriter) {
    json.beginObject()
    json.member("name", chip.driver?.name ?? "")
    json.member("kind", chip.driver?.kind.rawValue ?? "")
    json.member("title", chip.title)
    json.key("addresses")
    json.beginArray()
    for address in chip.addresses { json.integer(Int(address)) }
    json.endArray()
    json.key("identity")
    json.beginObject()
    json.member("register", Int(chip.identity.register))
    json.key("values")
    json.beginArray()
    for value in chip.identity.values {
      json.beginArray()
      for byte in value { json.integer(Int(byte)) }
      json.endArray()
    }
    json.endArray()
    json.endObject()
    json.member("provenAgainst", chip.provenAgainst)
    json.member("fifoSamples", chip.fifoSampleCount)
    json.key("ratesHz")
    json.beginArray()
    json.number(chip.ratesHz.lowerBound, decimals: 1)
    json.number(chip.ratesHz.upperBound, decimals: 1)
    json.endArray()
    json.member("milliamperes", chip.milliamperes, decimals: 3)
    json.member("sleepMilliamperes", chip.sleepMilliamperes, decimals: 4)
    json.endObject()
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: false)
    return "0x" + (digits.count == 1 ? "0" : "") + digits
  }

  private static func short(_ number: Double) -> String {
    number == number.rounded() ? Text.fixed(number, 0) : Text.fixed(number, 1)
  }
}
