import MonotonicTime

/// When and how the machine itself sleeps between two fixes.
public struct BoardSleepSettings: Equatable, Sendable {
  public enum Way: String, CaseIterable, Codable, Sendable {
    /// Suspend to RAM. The hub continues afterwards.
    case suspend
    /// Shut down, and boot again.
    case poweroff
  }

  /// Further reasons to stay awake: users who are logged in, and the connected clients of an output, even if they
  /// hold no device.
  public enum Keeper: String, CaseIterable, Sendable {
    case users, gpsd, nmea, signalk, http, mqtt
    /// The clients of the Unix sockets.
    case sockets
  }

  static let idleSeconds = 5.0...86_400
  static let afterStartSeconds = 0.0...86_400
  private static let mostArguments = 32

  public var way: Way
  /// The real-time clock whose alarm wakes the machine; `nil` if the command does that.
  public var rtc: String?
  /// The machine sleeps after nothing has needed it for this time.
  public var idle: Duration
  /// How long the machine stays awake after something other than the alarm has started the hub, so that a person can
  /// log in.
  public var afterStart: Duration
  public var keepers: Set<Keeper>
  /// The program that tells a power manager when to switch the board on again, and its arguments; `nil` for none.
  public var command: [String]?
  /// Whether the machine also sleeps if no further fix is due. There is no alarm then, so only something outside the
  /// hub can wake the machine, such as a button.
  public var sleepsWithoutEnd: Bool

  public init(
    _ way: Way, rtc: String? = "/dev/rtc0", idle: Duration = .seconds(30), afterStart: Duration = .seconds(300),
    keepers: Set<Keeper> = [.users], command: [String]? = nil, sleepsWithoutEnd: Bool = false
  ) {
    self.way = way
    self.rtc = rtc
    self.idle = idle
    self.afterStart = afterStart
    self.keepers = keepers
    self.command = command
    self.sleepsWithoutEnd = sleepsWithoutEnd
  }
}

extension BoardSleepSettings {
  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    guard let way = try section.choice("board", of: Way.self) else { throw section.missing("board") }
    let words = try section.strings("command")
    if let words {
      let parts = words.first?.split(separator: "/", omittingEmptySubsequences: false) ?? []
      let isPath = parts.count > 1 && parts[0].isEmpty && parts.last?.isEmpty == false && !parts.contains("..")
      let isShort = words.count <= BoardSleepSettings.mostArguments
      guard isPath, isShort, words.allSatisfy({ $0.utf8.count <= 4096 && !$0.utf8.contains(0) }) else {
        throw section.wrong(
          "command",
          expected: "a list of a program's absolute path and its arguments, without a shell: "
            + "[\"/usr/local/bin/wake-me\", \"{wake}\"]")
      }
    }
    let named = try section.string("rtc")
    if let named, !BoardSleepSettings.isClock(named) {
      let isFolder = named.hasPrefix("/sys/")
      throw section.wrong(
        "rtc",
        expected: isFolder
          ? "the clock's device file, such as \"/dev/rtc0\": the hub's user may not set an alarm through /sys"
          : "the device file of a real-time clock, such as \"/dev/rtc0\"")
    }
    let keepers = try section.strings("keep")
    let known = Keeper.allCases.map(\.rawValue)
    if let keepers, !keepers.allSatisfy(known.contains) || Set(keepers).count != keepers.count {
      throw section.wrong("keep", expected: "a list of some of " + known.joined(separator: ", "))
    }
    let idle = try section.number("idle", in: BoardSleepSettings.idleSeconds)
    let afterStart = try section.number("afterStart", in: BoardSleepSettings.afterStartSeconds)
    self.init(
      way, rtc: named ?? (words == nil ? "/dev/rtc0" : nil), idle: .nanoseconds(Int64((idle ?? 30) * 1e9)),
      afterStart: .nanoseconds(Int64((afterStart ?? 300) * 1e9)),
      keepers: keepers.map { Set($0.compactMap(Keeper.init)) } ?? [.users], command: words,
      sleepsWithoutEnd: try section.boolean("withoutEnd") ?? false)
    try section.finish()
  }

  private static func isClock(_ path: String) -> Bool {
    let folder = "/dev/"
    return path.hasPrefix(folder + "rtc") && !path.dropFirst(folder.utf8.count).contains("/")
  }
}

extension BoardSleepSettings: CustomStringConvertible {
  /// A description such as `sleep: after 30 s in which nothing needs the board it is suspended until the next fix; the
  /// alarm of /dev/rtc0 wakes it; users keep it awake`.
  public var description: String {
    let words = way == .suspend ? "is suspended" : "is switched off"
    let end = sleepsWithoutEnd ? "until the next fix, or without an end if there is none" : "until the next fix"
    var parts = ["after \(idle.inSeconds.short) s in which nothing needs the board, it \(words) \(end)"]
    if let rtc { parts.append("the alarm of \(rtc) wakes it") }
    if let command { parts.append("\(command[0]) is told when it must wake") }
    let names = Keeper.allCases.filter(keepers.contains).map { $0 == .users ? "users" : "clients of \($0.rawValue)" }
    if !names.isEmpty { parts.append("\(names.joined(separator: ", ")) keep it awake") }
    if afterStart > .zero {
      parts.append("if something other than the alarm starts it, it stays awake for \(afterStart.inSeconds.short) s")
    }
    return "sleep: " + parts.joined(separator: "; ")
  }
}
