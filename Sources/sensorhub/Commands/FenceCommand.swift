import ArgumentParser
import FoundationEssentials
import Hub
import Outputs

/// Lists, adds and removes the fences of a running hub.
struct FenceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fence", abstract: "List, add and remove the fences of a running hub.",
    discussion: """
      A fence watches whether the board stays inside an area. If the board leaves the area, or its position is unknown, the \
      hub reports an event in the journal, over HTTP and at a broker. Fences are set in the board file, or added while the \
      hub runs, for example when you drop an anchor. Added fences survive restarts until you remove them. To add or remove \
      a fence, run the command as root, as the hub's account, or as a member of the group sensorhub.

      Example: sensorhub fence add anchor --here 40
      """,
    subcommands: [FenceListCommand.self, FenceAdd.self, FenceRemove.self])
}

/// The answer of a hub to a request about fences.
private struct FenceAnswer: Decodable {
  struct Fence: Decodable {
    var state: String
    var beyond: Double?
    var circle: [Double]?
    var polygon: [[Double]]?
    var added: Bool?
  }

  var message, nextStep, reason: String?
  var fences: [String: Fence]?
  var kept: Bool?
  var circle: [Double]?

  static func of(
    _ request: String, socket: String?, within limit: Duration = HubConnection.answerTime
  ) throws -> FenceAnswer {
    var connection = try HubConnection.open(socket) { $0.state }
    connection.send(request)
    let line = try connection.answer(within: limit)
    guard let answer = try? JSONDecoder().decode(FenceAnswer.self, from: Data(line)) else {
      throw CommandError(
        .inputOutput, "the hub's answer cannot be understood",
        nextStep: "check that sensorhub and the hub have the same version")
    }
    if let message = answer.message {
      throw CommandError(
        answer.reason == "noPermission" ? .noPermission : .unavailable, Text.printable(message),
        nextStep: answer.nextStep)
    }
    return answer
  }

  /// A circle as text, for example `40 m around 54.372100, 10.157300`.
  static func text(circle: [Double]) -> String {
    guard circle.count == 3 else { return "a circle" }
    return "\(Text.fixed(circle[2], 0)) m around \(Text.fixed(circle[0], 6)), \(Text.fixed(circle[1], 6))"
  }

  /// Prints a warning if a change lasts only until the hub ends.
  func warn() {
    if kept == false {
      Terminal.standardError(
        "the change lasts until the hub restarts: the hub runs without a board file, or could not write to its state folder"
      )
    }
  }
}

/// Lists all fences, with the board's side of each.
struct FenceListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the fences, and on which side of each the board is. Wakes nothing.")

  @Option(help: ArgumentHelp("The hub's state socket.", valueName: "path"))
  var socket: String?

  func run() throws {
    let answer = try FenceAnswer.of(#"{"fences": "list", "name": "fence"}"#, socket: socket)
    let fences = (answer.fences ?? [:]).sorted { $0.key < $1.key }
    if fences.isEmpty { Terminal.standardOutput("no fences; sensorhub fence add NAME --here METRES adds one") }
    for (name, fence) in fences {
      let area = fence.circle.map(FenceAnswer.text) ?? "\(fence.polygon?.count ?? 0) corners"
      let edge = fence.beyond.map { ", \(Text.fixed(abs($0), 0)) m \($0 > 0 ? "beyond" : "within") the edge" } ?? ""
      let origin = fence.added == true ? "added" : "set in the board file"
      Terminal.standardOutput("\(Text.printable(name)): \(Text.printable(fence.state))\(edge); \(area); \(origin)")
    }
  }
}

struct FenceAdd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a fence around the board's position, or around another place.",
    discussion: """
      With --here the board's position is the centre of the fence; if the hub does not know the position, it wakes the \
      receiver. If you have added a fence with the same name, the new one replaces it.

      Example: sensorhub fence add anchor --here 40
      At another place: sensorhub fence add yard --at 54.3721,10.1573 --radius 80
      """)

  @Argument(help: "A name of your own.") var name: String

  @Option(help: ArgumentHelp("A circle around the board's position, with this radius.", valueName: "metres"))
  var here: Double?

  // A southern latitude begins with a minus sign, like an option.
  @Option(
    parsing: .unconditional, help: ArgumentHelp("The centre of the circle.", valueName: "latitude,longitude"))
  var at: String?

  @Option(help: ArgumentHelp("With --at: the radius of the circle.", valueName: "metres"))
  var radius: Double?

  @Option(
    help: ArgumentHelp(
      "How long fixes must be outside before the hub reports it, and how late a fix may be. Default: 20.",
      valueName: "seconds"))
  var grace: Double?

  @Option(help: ArgumentHelp("The hub's state socket.", valueName: "path"))
  var socket: String?

  private var place: (latitude: Double, longitude: Double)? {
    let numbers = (at ?? "").split(separator: ",").compactMap { Double($0.filter { $0 != " " }) }
    return numbers.count == 2 ? (numbers[0], numbers[1]) : nil
  }

  func validate() throws {
    guard DeviceDescription.isID(name) else {
      throw ValidationError("the name must have \(DeviceDescription.idForm)")
    }
    guard (here == nil) != (at == nil) else {
      throw ValidationError("give either --here METRES, or --at with --radius")
    }
    if at != nil, place == nil {
      throw ValidationError("--at must be a latitude and a longitude: --at 54.3721,10.1573")
    }
    if at != nil, radius == nil { throw ValidationError("--at needs --radius, in metres") }
    for (option, metres) in [("here", here), ("radius", radius)] {
      guard metres.map(FenceArea.radiusMetres.contains) ?? true else {
        throw ValidationError("--\(option) must be from \(FenceArea.radiusMetres.messageText) metres")
      }
    }
    let (latitudes, longitudes) = (FenceArea.latitudeDegrees, FenceArea.longitudeDegrees)
    if let place, !latitudes.contains(place.latitude) || !longitudes.contains(place.longitude) {
      throw ValidationError(
        "--at must be a latitude from \(latitudes.messageText) and a longitude from \(longitudes.messageText)")
    }
    guard grace.map(FenceSettings.graceSeconds.contains) ?? true else {
      throw ValidationError("--grace must be from \(FenceSettings.graceSeconds.messageText) seconds")
    }
    if here != nil, radius != nil { throw ValidationError("--here contains the radius: leave out --radius") }
  }

  func run() throws {
    var members = ["\"name\": \"\(name)\"", "\"radiusMetres\": \(here ?? radius ?? 0)"]
    if let place { members += ["\"latitude\": \(place.latitude)", "\"longitude\": \(place.longitude)"] }
    if let grace { members.append("\"grace\": \(grace)") }
    let fence = members.joined(separator: ", ")
    // For `--here` the hub may first have to wake a receiver.
    let answer = try FenceAnswer.of(
      "{\"fence\": {\(fence)}, \"name\": \"fence\"}", socket: socket,
      within: HubConnection.answerTime + (here == nil ? .zero : Schedule.usualWithin))
    Terminal.standardOutput("fence \(name): \(answer.circle.map(FenceAnswer.text) ?? "added")")
    answer.warn()
  }
}

struct FenceRemove: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a fence that was added.",
    discussion: "To remove a fence that the board file sets, edit the board file.")

  @Argument(help: "The name of the fence.") var name: String

  @Option(help: ArgumentHelp("The hub's state socket.", valueName: "path"))
  var socket: String?

  func validate() throws {
    guard name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x22 && $0 != 0x5C && $0 < 0x7F }) else {
      throw ValidationError("no fence has such a name")
    }
  }

  func run() throws {
    let answer = try FenceAnswer.of("{\"removeFence\": \"\(name)\", \"name\": \"fence\"}", socket: socket)
    Terminal.standardOutput("fence \(name): removed")
    answer.warn()
  }
}
