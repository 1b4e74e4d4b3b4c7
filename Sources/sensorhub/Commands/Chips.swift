import ArgumentParser
import Devices
import Outputs

/// Lists the chips that the hub can read.
struct Chips: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the chips that the hub can read: what a board file calls them, and how they are told from others.",
    discussion: """
      Example: sensorhub chips --json
      """)

  @Flag(help: "Print one JSON object a chip, one a line.")
  var json = false

  func run() {
    if json {
      for chip in InertialChip.all {
        var writer = JSONWriter()
        Chips.write(chip, to: &writer)
        Terminal.standardOutput(String(decoding: writer.bytes, as: UTF8.self))
      }
      return
    }
    Terminal.standardOutput("driver       kind  addresses   identity           rates            FIFO         chip")
    for chip in InertialChip.all {
      let addresses = chip.addresses.map(Chips.hexadecimal).joined(separator: ", ")
      let values = chip.identity.values.map(Chips.hexadecimal).joined(separator: "/")
      let columns: [(text: String, width: Int)] = [
        (chip.name, 11), ("imu", 4), (addresses, 10), ("\(Chips.hexadecimal(chip.identity.register)) = \(values)", 21),
        ("\(Chips.short(chip.ratesHz.lowerBound)) to \(Chips.short(chip.ratesHz.upperBound)) Hz", 15),
        ("\(chip.fifoSampleCount) samples", 11),
      ]
      Terminal.standardOutput(
        columns.map { Text.padded($0.text, $0.width) }.joined(separator: "  ") + "  \(chip.title)")
    }
  }

  private static func write(_ chip: InertialChip, to json: inout JSONWriter) {
    json.beginObject()
    json.member("name", chip.name)
    json.member("kind", literal: "imu")
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
    for value in chip.identity.values { json.integer(Int(value)) }
    json.endArray()
    json.endObject()
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
