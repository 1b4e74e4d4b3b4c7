import CLinux
import Glibc
import HardwareIO
import Hub

/// A setting of a board file that is valid by itself, but that no hub can apply.
public struct BoardProblem: Equatable, Sendable, CustomStringConvertible {
  /// The place in the file, for example `nmea[0].udp`.
  public var key: String
  /// The problem, as the rest of a sentence that begins with the key.
  public var text: String

  public init(_ key: String, _ text: String) {
    self.key = key
    self.text = text
  }

  public var description: String { "'\(key)' \(text)" }
}

/// Finds settings of a board file that no hub can apply, although each value by itself is valid. A running hub logs and
/// ignores these settings; this check reports them before a hub runs.
public enum BoardProblems {
  /// - Parameters:
  ///   - isElsewhere: whether this machine is not the board; secrets, certificates and programs may then be missing
  ///     here
  ///   - isForServiceAlone: whether only the service can read a file; such a file is not checked
  public static func find(
    in board: Board, isElsewhere: Bool = false,
    isForServiceAlone: @escaping (String) -> Bool = ServiceFiles.isForServiceAlone
  ) -> [BoardProblem] {
    let isLeftOut = { (file: String) in isElsewhere && isMissing(file) || isForServiceAlone(file) }
    let misplaced = misplacedPasswords(board)
    let board = withoutMisplacedPasswords(without(isLeftOut, board))
    return misplaced + ports(board) + http(board, isLeftOut) + connections(board) + lines(board)
      + chrony(board) + sleep(board)
      + record(board) + parts(board) + signalK(board, isLeftOut)
      + fleet(board) + fences(board) + requests(board) + casters(board, isLeftOut)
      + hooks(board, isElsewhere: isElsewhere, isLeftOut)
  }

  /// The secrets, certificates and programs that the board file names and that are missing on this machine, each with
  /// its key: `'http.tokenFile': /etc/…`.
  public static func missingFiles(of board: Board) -> [String] {
    let programs = board.hooks.compactMap { hook in hook.program.map { (key: "\(hook.key).run", file: $0) } }
    return texts(of: (secrets(of: board) + certificates(of: board) + programs).filter { isMissing($0.file) })
  }

  /// The secrets and certificates that the board file names and that only the service can read, each with its key.
  public static func filesForServiceAlone(of board: Board) -> [String] {
    texts(of: (secrets(of: board) + certificates(of: board)).filter { ServiceFiles.isForServiceAlone($0.file) })
  }

  private static func texts(of files: [(key: String, file: String)]) -> [String] {
    files.map { "'\($0.key)': \($0.file)" }
  }

  private static func certificates(of board: Board) -> [(key: String, file: String)] {
    let fleet = board.fleet
    let named = [
      ("mqtt.caFile", fleet?.caFile), ("mqtt.certificateFile", fleet?.certificateFile),
      ("mqtt.keyFile", fleet?.keyFile),
    ]
    return named.compactMap { key, file in file.map { (key: key, file: $0) } } + authoritiesForCasters(of: board)
      + authoritiesOfSignalK(board)
  }

  /// The files with passwords and tokens, each with its key in the board file.
  static func secrets(of board: Board) -> [(key: String, file: String)] {
    let named = [("http.tokenFile", board.http?.tokenFile), ("mqtt.passwordFile", board.fleet?.passwordFile)]
    return named.compactMap { key, file in file.map { (key, $0) } } + passwordsForCasters(of: board)
      + tokensOfHooks(of: board) + tokensOfSignalK(board)
  }

  private static func tokensOfSignalK(_ board: Board) -> [(key: String, file: String)] {
    board.signalKServers.compactMap { server in server.tokenFile.map { ("\(server.key).tokenFile", $0) } }
  }

  private static func authoritiesOfSignalK(_ board: Board) -> [(key: String, file: String)] {
    board.signalKServers.compactMap { server in server.address.caFile.map { ("\(server.key).caFile", $0) } }
  }

  /// Finds files of Signal K servers that cannot be read, and servers that are named twice.
  private static func signalK(_ board: Board, _ isLeftOut: (String) -> Bool) -> [BoardProblem] {
    let tokens = tokensOfSignalK(board).filter { SecretFile.refusal(ofBoards: $0.file) == nil }
    let problems = (tokens + authoritiesOfSignalK(board)).compactMap { key, file -> BoardProblem? in
      if isLeftOut(file) || access(file, R_OK) == 0 { return nil }
      return BoardProblem(key, "cannot be read from \(file): \(String(cString: strerror(errno)))")
    }
    let servers = board.signalKServers
    let repeated = servers.indices.compactMap { index in
      servers[..<index].first { $0.address.authority == servers[index].address.authority }.map {
        BoardProblem("\(servers[index].key).server", "is \(servers[index]), which '\($0.key)' already uses")
      }
    }
    return problems + repeated
  }

  private static func tokensOfHooks(of board: Board) -> [(key: String, file: String)] {
    board.hooks.compactMap { hook in hook.webhook?.tokenFile.map { ("\(hook.key).tokenFile", $0) } }
  }

  private static func fault(ofProgram path: String) -> String? {
    var status = stat()
    if stat(path, &status) != 0 { return String(cString: strerror(errno)) }
    let word = ShellText.word(path)
    if status.st_mode & S_IFMT != S_IFREG { return "it is not a program" }
    if status.st_mode & 0o111 == 0 { return "it is not executable: sudo chmod 755 \(word)" }
    return status.st_mode & S_IWOTH == 0 ? nil : "every user may change it: sudo chmod o-w \(word)"
  }

  /// Finds programs that cannot run, or that every user may change. Also finds tokens that cannot be read, and hooks
  /// with an MQTT topic but no broker.
  private static func hooks(
    _ board: Board, isElsewhere: Bool, _ isLeftOut: (String) -> Bool
  ) -> [BoardProblem] {
    var problems = tokensOfHooks(of: board).compactMap { key, file -> BoardProblem? in
      if SecretFile.refusal(ofBoards: file) != nil { return nil }
      if isLeftOut(file) || access(file, R_OK) == 0 { return nil }
      return BoardProblem(key, "cannot be read from \(file): \(String(cString: strerror(errno)))")
    }
    for hook in board.hooks {
      if hook.topic != nil, board.fleet == nil {
        problems.append(BoardProblem("\(hook.key).mqtt", "needs a broker: set 'mqtt.broker'"))
      }
      if let program = hook.program, !(isElsewhere && isMissing(program)), let fault = fault(ofProgram: program) {
        problems.append(BoardProblem("\(hook.key).run", "cannot run \(program): \(fault)"))
      }
    }
    return problems
  }

  /// Finds passwords and tokens, except the HTTP token, outside the folders that board files may use. The result is the
  /// same on any machine.
  private static func misplacedPasswords(_ board: Board) -> [BoardProblem] {
    secrets(of: board).filter { $0.key != "http.tokenFile" }.compactMap { key, file in
      SecretFile.refusal(ofBoards: file).map { BoardProblem(key, "cannot be read from \(file): \($0)") }
    }
  }

  private static func passwordsForCasters(of board: Board) -> [(key: String, file: String)] {
    board.devices.compactMap { device in
      guard case .receiver(let receiver) = device, let file = receiver.caster?.passwordFile else { return nil }
      return ("devices.\(receiver.id).ntrip.passwordFile", file)
    }
  }

  private static func authoritiesForCasters(of board: Board) -> [(key: String, file: String)] {
    board.devices.compactMap { device in
      guard case .receiver(let receiver) = device, let file = receiver.caster?.caFile else { return nil }
      return ("devices.\(receiver.id).ntrip.caFile", file)
    }
  }

  private static func casters(_ board: Board, _ isLeftOut: (String) -> Bool) -> [BoardProblem] {
    (passwordsForCasters(of: board) + authoritiesForCasters(of: board)).compactMap { key, file in
      if isLeftOut(file) || access(file, R_OK) == 0 { return nil }
      return BoardProblem(key, "cannot be read from \(file): \(String(cString: strerror(errno)))")
    }
  }

  /// Whether the file is missing. A file that exists but cannot be read is not missing.
  private static func isMissing(_ file: String) -> Bool {
    access(file, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)
  }

  /// The board without those files of `mqtt` that the check leaves out, so that the other settings can be checked.
  private static func without(_ isLeftOut: @escaping (String) -> Bool, _ board: Board) -> Board {
    func here(_ file: String?) -> String? { file.flatMap { isLeftOut($0) ? nil : $0 } }
    var board = board
    if var fleet = board.fleet {
      fleet.passwordFile = here(fleet.passwordFile)
      fleet.caFile = here(fleet.caFile)
      fleet.certificateFile = here(fleet.certificateFile)
      fleet.keyFile = here(fleet.keyFile)
      board.fleet = fleet
    }
    return board
  }

  /// The board without the passwords of the broker and of casters that `misplacedPasswords` reports.
  private static func withoutMisplacedPasswords(_ board: Board) -> Board {
    var board = board
    if let file = board.fleet?.passwordFile, SecretFile.refusal(ofBoards: file) != nil {
      board.fleet?.passwordFile = nil
    }
    for (index, device) in board.devices.enumerated() {
      guard case .receiver(var receiver) = device, let file = receiver.caster?.passwordFile,
        SecretFile.refusal(ofBoards: file) != nil
      else { continue }
      receiver.caster?.passwordFile = nil
      board.devices[index] = .receiver(receiver)
    }
    return board
  }

  /// Finds outputs with the same TCP port on overlapping addresses; only the first one could open it. Also finds NMEA
  /// outputs with the same UDP target.
  private static func ports(_ board: Board) -> [BoardProblem] {
    func key(_ index: Int) -> String { board.nmea.count == 1 ? "nmea" : "nmea[\(index)]" }
    let nmea = board.nmea.enumerated().map { index, port in (key(index), port.endpoint) }
    let others = [
      ("signalk", board.signalK?.endpoint), ("bridge", board.bridge?.endpoint), ("http", board.http?.endpoint),
    ]
    let endpoints = ([("gpsd", board.gpsdEndpoint)] + nmea + others)
      .compactMap { key, endpoint in endpoint.map { (key: key, endpoint: $0) } }
    let targets = board.nmea.enumerated().compactMap { index, port in port.target.map { (key(index), $0) } }
    let repeated = targets.indices.flatMap { index in
      targets[..<index].filter { "\($0.1)" == "\(targets[index].1)" }.map {
        BoardProblem("\(targets[index].0).udp", "is \(targets[index].1), which '\($0.0)' already uses")
      }
    }
    return repeated
      + endpoints.indices.flatMap { index in
        endpoints[..<index].filter { collide($0.endpoint, endpoints[index].endpoint) }.map {
          BoardProblem(
            "\(endpoints[index].key).port", "is \(endpoints[index].endpoint.port), which '\($0.key)' already uses")
        }
      }
  }

  private static func collide(_ one: TCPEndpoint, _ other: TCPEndpoint) -> Bool {
    guard one.port == other.port else { return false }
    return one.addresses.contains { address in other.addresses.contains { overlap(address, $0) } }
  }

  /// Whether two addresses overlap: they are equal, or one is the wildcard. On Linux, the IPv6 wildcard includes the
  /// IPv4 addresses.
  private static func overlap(_ one: IPAddress, _ other: IPAddress) -> Bool {
    let isSameFamily = one.bytes.count == other.bytes.count
    return one == other
      || [one, other].contains { $0.bytes.allSatisfy { $0 == 0 } && (isSameFamily || $0.bytes.count == 16) }
  }

  private static func http(_ board: Board, _ isLeftOut: (String) -> Bool) -> [BoardProblem] {
    guard let http = board.http else { return [] }
    var problems: [BoardProblem] = []
    do throws(AccessToken.Failure) {
      if !(http.tokenFile.map(isLeftOut) ?? false) { _ = try AccessToken.load(for: http) }
    } catch {
      problems.append(BoardProblem("http", "on \(http.endpoint) would not be served: \(error)"))
    }
    for host in http.hosts where !isHostName(host) {
      problems.append(BoardProblem("http.hosts", "has '\(host)': give only a name, such as \"hub.example\""))
    }
    return problems
  }

  private static func isHostName(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }

  /// Finds devices at the same path, such as a tty, or at the same I2C address. Two readers of a tty would each get
  /// only some of its bytes, and two readers of a chip only some of its FIFO.
  private static func connections(_ board: Board) -> [BoardProblem] {
    func place(_ device: DeviceDescription) -> String {
      let path = Files.resolved(device.path) ?? device.path
      return device.place.map { "\(I2CAddress(bus: path, address: $0.address))" } ?? path
    }
    // The places are compared by means of a dictionary and not in pairs, because there may be thousands of devices.
    var first: [String: String] = [:]
    var problems = board.devices.compactMap { device -> BoardProblem? in
      let place = place(device)
      guard let other = first[place] else {
        first[place] = device.id
        return nil
      }
      return BoardProblem("devices.\(device.id)", "is at \(place), where 'devices.\(other)' is already")
    }
    // The autopilot's port may be another name of a receiver's port. Only one of the two could open it.
    if let port = board.mavlink?.serialPort, let device = first[Files.resolved(port) ?? port] {
      problems.append(BoardProblem("mavlink.port", "is at \(port), where 'devices.\(device)' is already"))
    }
    return problems
  }

  /// Finds GPIO lines with two uses. The second use would fail at each start. Devices on one switch may share its
  /// line.
  private static func lines(_ board: Board) -> [BoardProblem] {
    // The earlier users of each line. Devices on one switch count as one user, because they may share the line.
    var known: [GPIOLineName: [Board.NamedLine]] = [:]
    return board.lines.flatMap { user in
      let others = known[user.line] ?? []
      if !others.contains(where: { $0.switch == user.switch }) { known[user.line, default: []].append(user) }
      return others.filter { $0.switch == nil || $0.switch != user.switch }.map {
        $0.switch != nil && user.switch != nil
          ? BoardProblem(user.key, "is the line \(user.line) with another 'activeLow' than '\($0.key)'")
          : BoardProblem(user.key, "is the line \(user.line), which '\($0.key)' already uses")
      }
    }
  }

  /// Finds outputs whose `parts` list names only parts that no device of the board measures. Their clients would get
  /// nothing.
  private static func parts(_ board: Board) -> [BoardProblem] {
    var wanted = [("gpsd", board.gpsdParts)] + board.nmea.map { ("nmea", $0.feed.parts) }
    if let parts = board.mavlink?.parts { wanted.append(("mavlink", parts)) }
    for server in board.signalKServers { wanted.append((server.key, server.parts)) }
    return wanted.filter { $0.1 != .all && $0.1.kinds(on: board).isEmpty }.map { key, parts in
      BoardProblem("\(key).parts", "is \(parts.names), which no device of this board measures")
    }
  }

  private static func record(_ board: Board) -> [BoardProblem] {
    guard let path = board.record?.path else { return [] }
    if path.hasPrefix("/"), UnitText.path(path, isOptional: true) == nil {
      return [
        BoardProblem(
          "record.path", "must be a folder below the root, without '..', such as /var/lib/sensorhub/recordings")
      ]
    }
    // The working directory under systemd is not that of the user, so a relative path would name another folder.
    if !path.hasPrefix("/") {
      return [BoardProblem("record.path", "must be an absolute path, such as /var/lib/sensorhub/recordings")]
    }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { return [] }
    return [BoardProblem("record.path", "must be a folder, but \(path) is not one")]
  }

  private static func fleet(_ board: Board) -> [BoardProblem] {
    guard let fleet = board.fleet, let problem = FleetError.find(for: fleet, isElsewhere: true) else { return [] }
    return [BoardProblem("mqtt", "at \(fleet.broker) cannot be used: \(problem)")]
  }

  private static func fences(_ board: Board) -> [BoardProblem] {
    board.fences.isEmpty || !Set([StatePart.position]).kinds(on: board).isEmpty
      ? [] : [BoardProblem("fences", "needs a receiver for the position: add one to 'devices'")]
  }

  private static func requests(_ board: Board) -> [BoardProblem] {
    board.requests.isEmpty || !Set([StatePart.position]).kinds(on: board).isEmpty
      ? [] : [BoardProblem("requests", "needs a receiver for fixes: add one to 'devices'")]
  }

  private static func sleep(_ board: Board) -> [BoardProblem] {
    guard board.sleep != nil, let device = board.devices.first(where: { SimulatedName.isSimulated($0.path) }) else {
      return []
    }
    return [
      BoardProblem(
        "sleep",
        "would put this machine to sleep for simulated devices, such as '\(device.id)': use real devices, or leave it out"
      )
    ]
  }

  private static func chrony(_ board: Board) -> [BoardProblem] {
    guard let path = board.chronySocket else { return [] }
    var problems: [BoardProblem] = []
    if board.receiver == nil {
      problems.append(BoardProblem("chrony", "needs a receiver for the time: add one to 'devices'"))
    }
    // The path of a Unix socket must leave one byte of its address for the final 0.
    let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
    if !path.hasPrefix("/") || path.utf8.count > limit {
      problems.append(BoardProblem("chrony.socket", "must be an absolute path of at most \(limit) bytes"))
    }
    return problems
  }
}
