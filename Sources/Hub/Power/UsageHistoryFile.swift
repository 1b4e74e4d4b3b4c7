import Devices
import Glibc

/// The file of the usage histories: JSON, for people to read and for the next run of the hub.
enum UsageHistoryFile {
  typealias Device = (id: String, identity: String, content: UsageHistory.Content)

  /// The version of the file. A file of another version is replaced, and the log says so.
  private static let version = 1

  // MARK: Writing

  static func text(_ devices: [Device]) -> String {
    let sections = devices.map { device in
      "    \(quoted(device.id)): {\n" + members(device).map { "      \($0)" }.joined(separator: ",\n") + "\n    }"
    }
    let note =
      "costs of starts (joules, seconds), durations of the last starts by the accuracy of the fix in metres (seconds), weights of gaps by their length in seconds, milliwatt-hours by hours since 1970"
    return "{\n  \"version\": \(version),\n  \"note\": \(quoted(note)),\n  \"devices\": {\n"
      + sections.joined(separator: ",\n") + "\n  }\n}\n"
  }

  private static func members(_ device: Device) -> [String] {
    let learned = device.content.learned
    let starts = ReceiverSleep.allCases.compactMap { sleep in
      device.content.starts[sleep].map { (sleep.rawValue, text($0)) }
    }
    let acquisitions = RestartCosts.Kind.allCases.compactMap { kind in
      let grades = AcquisitionTimes.Grade.all.compactMap { grade -> (String, String)? in
        let seconds = device.content.acquisitions.last(to: grade, after: kind)
        return seconds.isEmpty ? nil : (grade.name, "[\(seconds.map(number).joined(separator: ", "))]")
      }
      return grades.isEmpty ? nil : (kind.rawValue, object(grades))
    }
    let gaps = learned.gaps.weights.indices.compactMap { bin in
      learned.gaps.weights[bin] < 0.001
        ? nil : (number(GapHistogram.upperEdge(bin)), number(learned.gaps.weights[bin]))
    }
    let hours: [String] = device.content.energyLog.hours.map { hour in
      let energyByClient: [(String, String)] = hour.energyByClient.clients.map { ($0.payer, number($0.milliwattHours)) }
      return "        \(quoted("\(hour.number)")): \(object(energyByClient))"
    }
    let savedJoules = learned.savedJoules.map(number) ?? "null"
    var members: [String] = []
    members.append("\"device\": \(quoted(device.identity))")
    members.append("\"restarts\": \(text(learned.restarts))")
    members.append("\"gapCount\": \(learned.gapCount)")
    members.append("\"changeCount\": \(learned.changeCount)")
    members.append("\"savedJoules\": \(savedJoules)")
    members.append("\"gaps\": \(object(gaps))")
    let hourLines = hours.joined(separator: ",\n")
    members.append(hours.isEmpty ? "\"hours\": {}" : "\"hours\": {\n\(hourLines)\n      }")
    // An older release takes an unknown key for damage, so these newer keys are written only if they have content.
    if !acquisitions.isEmpty { members.append("\"acquisitions\": \(object(acquisitions))") }
    if !starts.isEmpty { members.append("\"startsBehindSleep\": \(object(starts))") }
    if let owner = device.content.uniqueID { members.append("\"uniqueID\": \(quoted(owner))") }
    return members
  }

  private static func text(_ restarts: RestartCosts) -> String {
    object(
      RestartCosts.Kind.allCases.compactMap { kind in
        restarts[kind].map { estimate in
          (
            kind.rawValue,
            object([
              ("joules", number(estimate.joules)), ("seconds", number(estimate.seconds)),
              ("count", "\(estimate.count)"),
            ])
          )
        }
      })
  }

  private static func object(_ members: [(String, String)]) -> String {
    "{" + members.map { "\(quoted($0.0)): \($0.1)" }.joined(separator: ", ") + "}"
  }

  /// A number with six digits.
  private static func number(_ value: Double) -> String {
    guard value.isFinite, value != 0 else { return "0" }
    let scale = pow(10, 5 - log10(abs(value)).rounded(.down))
    let rounded = (value * scale).rounded() / scale
    return rounded.isFinite ? "\(rounded)" : "\(value)"
  }

  private static func quoted(_ text: String) -> String {
    let escaped = text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "\"", "\\": escaped += "\\\(scalar)"
      case _ where scalar.value < 0x20:
        let hex = String(scalar.value, radix: 16)
        escaped += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return "\"\(escaped)\""
  }

  // MARK: Reading

  /// - Returns: the valid contents of the file, and the errors of skipped entries
  /// - Throws: if nothing in the file is usable
  static func read(_ text: [UInt8], file: String) throws(BoardError) -> (devices: [Device], problems: [BoardError]) {
    var root = try BoardSection(json5: text, file: file)
    let version = try root.integer("version", in: 0...Int(Int32.max))
    guard version == UsageHistoryFile.version else {
      throw root.wrong("version", expected: "\(UsageHistoryFile.version)")
    }
    _ = try root.string("note")
    var devices: [Device] = []
    var problems: [BoardError] = []
    for (id, section) in try root.namedSections("devices").prefix(UsageHistories.limit) {
      do throws(BoardError) {
        devices.append(try device(id, section, &problems))
      } catch {
        problems.append(error)
      }
    }
    do throws(BoardError) { try root.finish() } catch { problems.append(error) }
    return (devices, problems)
  }

  private static func device(
    _ id: String, _ section: BoardSection, _ problems: inout [BoardError]
  ) throws(BoardError) -> Device {
    var section = section
    var content = UsageHistory.Content()
    let identity = try section.required("device")
    content.learned.restarts = try restarts(&section, "restarts")
    // Files of older releases lack this key.
    if var starts = try section.section("startsBehindSleep") {
      for key in starts.keys {
        guard let sleep = ReceiverSleep(rawValue: key) else {
          throw starts.wrong(
            key, expected: "one of \(ReceiverSleep.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", "))")
        }
        content.starts[sleep] = try restarts(&starts, key)
      }
      try starts.finish()
    }
    try readAcquisitions(&section, into: &content.acquisitions)
    content.uniqueID = try section.string("uniqueID")
    content.learned.gapCount = try section.integer("gapCount", in: 0...Int(Int32.max)) ?? 0
    content.learned.changeCount = try section.integer("changeCount", in: 0...Int(Int32.max)) ?? 0
    content.learned.savedJoules = try section.number("savedJoules", in: 0...1e9)
    if var gaps = try section.section("gaps") {
      for (name, weight) in try gaps.numbers(in: 0...1e6) {
        guard let seconds = Double(name), seconds > 0, seconds.isFinite else {
          throw gaps.wrong(name, expected: "named in seconds")
        }
        // The factor keeps a rounded edge in its bin.
        content.learned.gaps.weights[GapHistogram.bin(of: seconds * 0.99)] += weight
      }
    }
    for (name, energyByClient) in try section.namedSections("hours").suffix(EnergyLog.hourCount) {
      do throws(BoardError) {
        content.energyLog.hours.append(try hour(name, energyByClient, after: content.energyLog.hours.last?.number))
      } catch {
        problems.append(error)
      }
    }
    do throws(BoardError) { try section.finish() } catch { problems.append(error) }
    return (id, identity, content)
  }

  private static func hour(
    _ name: String, _ energyByClient: BoardSection, after before: Int?
  ) throws(BoardError) -> EnergyLog.Hour {
    var energyByClient = energyByClient
    guard let number = Int(name), (0...10_000_000).contains(number), number > before ?? -1 else {
      throw energyByClient.wrong(expected: "named by an hour since 1970, in their order")
    }
    var charged = EnergyByClient()
    for (payer, milliwattHours) in try energyByClient.numbers(in: 0...1e9) { charged.charge(milliwattHours, to: payer) }
    return EnergyLog.Hour(number: number, energyByClient: charged)
  }

  private static func restarts(_ section: inout BoardSection, _ key: String) throws(BoardError) -> RestartCosts {
    var costs = RestartCosts()
    for (name, restart) in try section.namedSections(key) {
      var restart = restart
      guard let kind = RestartCosts.Kind(rawValue: name) else {
        throw restart.wrong(expected: "'hot', 'warm' or 'cold'")
      }
      costs[kind] = RestartCosts.Estimate(
        joules: try restart.number("joules", in: 0...1e9) ?? 0,
        seconds: try restart.number("seconds", in: 0...1e9) ?? 0,
        count: try restart.integer("count", in: 1...Int(Int32.max)) ?? 1)
      try restart.finish()
    }
    return costs
  }

  /// Reads the seconds that earlier starts took to reach each accuracy. Files of older releases do not contain them.
  private static func readAcquisitions(
    _ section: inout BoardSection, into times: inout AcquisitionTimes
  ) throws(BoardError) {
    for (name, grades) in try section.namedSections("acquisitions") {
      var grades = grades
      guard let kind = RestartCosts.Kind(rawValue: name) else {
        throw grades.wrong(expected: "'hot', 'warm' or 'cold'")
      }
      for key in grades.keys {
        guard let grade = AcquisitionTimes.Grade.all.first(where: { $0.name == key }) else {
          throw grades.wrong(
            key, expected: "one of \(AcquisitionTimes.Grade.all.map(\.name).joined(separator: ", "))")
        }
        for seconds in try grades.numbers(key, in: 0...1e6) ?? [] { times.add(seconds, to: grade, after: kind) }
      }
    }
  }
}

extension BoardSection {
  /// The members of an object with free keys, each a number, in the order of the file.
  fileprivate mutating func numbers(in range: ClosedRange<Double>) throws(BoardError) -> [(name: String, value: Double)]
  {
    var numbers: [(name: String, value: Double)] = []
    for key in keys {
      if let number = try number(key, in: range) { numbers.append((key, number)) }
    }
    return numbers
  }
}
