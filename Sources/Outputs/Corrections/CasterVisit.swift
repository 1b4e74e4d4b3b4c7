import FoundationEssentials
import HardwareIO
import Hub
import MonotonicTime
import UBX

/// One visit to a caster: it connects, requests a mount point, and takes corrections until a stop request or an error.
struct CasterVisit {
  /// The time limits of a visit.
  struct Patience {
    /// The limit for connecting to each of the host's addresses.
    var connection = Duration.seconds(10)
    /// The limit for the TLS handshake, and after it for the head of the answer.
    var answer = Duration.seconds(15)
    /// The limit without any received byte. Most stations report every second, and the slowest ones every ten seconds.
    var silence = Duration.seconds(30)
    /// The interval between checks whether the receiver's position is known yet.
    var position = Duration.seconds(1)
  }

  enum Event {
    /// The caster has granted the request.
    case connected
    case bytes(Int)
    /// A complete RTCM 3 message.
    case message(UInt16, [UInt8])
  }

  /// The content that arrived in one read, and the number of bytes that were read. Only the number reveals a caster
  /// that sends many bytes without content, such as the size lines of HTTP chunks.
  private struct Piece {
    var body: [UInt8] = []
    /// The number of bytes in this read, including those of the head, of chunk sizes and of TLS.
    var count = 0
  }

  /// The first byte of an RTCM 3 message.
  private static let preamble: UInt8 = 0xD3
  /// The maximum number of bytes without a complete message, sizes of chunks and TLS included. If more arrive, the visit
  /// fails with `noCorrections`.
  private static let mostNoise = 16 * 1024
  /// The maximum rate in bytes a second, ten times that of the fullest corrections. If a caster sends faster, the
  /// visit reads nothing more until the next second.
  private static let mostBytesASecond = 32 * 1024
  /// The longest table in bytes, enough for five thousand mount points.
  private static let longestTable = 2 * 1024 * 1024

  let caster: CasterSettings
  let password: String
  /// The version of this program.
  let version: String
  let patience: Patience
  let poller: Poller
  let clock: any MonotonicTimeSource
  /// The receiver's position as a sentence; `nil` while it is unknown.
  let position: () -> String?

  /// Receives corrections until a stop request or an error.
  ///
  /// - Returns: the reason of the end
  func run(_ receive: (Event) -> Void) -> CasterError {
    do throws(CasterError) {
      try stay(receive)
    } catch {
      guard error == .noSuchMountPoint(nearest: [], count: 0) else { return error }
      // The table of mount points, which takes a second connection, contains similar names for the message.
      return (try? askForTable())?.lack(of: caster.mountPoint) ?? error
    }
  }

  private func connect(_ mountPoint: String) throws(CasterError) -> ServerConnection {
    let connection = try ServerConnection(to: caster.server, poller, within: patience.connection)
    try connection.shakeHands(within: patience.answer, clock)
    let isTold = caster.positionInterval != nil && !mountPoint.isEmpty
    let request = CasterRequest.make(
      mountPoint, of: caster, password: password, position: isTold ? position() : nil, version: version)
    try connection.send(request, within: patience.answer)
    return connection
  }

  /// Reads once, and waits for at most `limit`. The body is empty if nothing arrives, or only the head or sizes of
  /// chunks.
  private func read(
    _ connection: borrowing ServerConnection, _ answer: inout CasterAnswer, atMost limit: Duration
  ) throws(CasterError) -> Piece {
    let received = try connection.receive(atMost: limit)
    var piece = Piece(count: received.count)
    try answer.take(received.bytes[...]) { piece.body += $0 }
    return piece
  }

  /// Reads the head of the answer.
  ///
  /// - Returns: the first bytes of the body
  private func readHead(
    _ connection: borrowing ServerConnection, _ answer: inout CasterAnswer
  ) throws(CasterError) -> [UInt8] {
    let deadline = clock.now + patience.answer
    while true {
      guard case let left = deadline - clock.now, left > .zero else { throw .silent }
      let piece = try read(connection, &answer, atMost: left)
      if answer.body != nil { return piece.body }
    }
  }

  // MARK: Corrections

  private func stay(_ receive: (Event) -> Void) throws(CasterError) -> Never {
    let connection = try connect(caster.mountPoint)
    var answer = CasterAnswer()
    let begun = try readHead(connection, &answer)
    guard answer.body == .corrections else {
      throw try readTable(connection, &answer, begun).lack(of: caster.mountPoint)
    }
    // The head does not count as noise.
    var piece = Piece(body: begun, count: begun.count)
    receive(.connected)
    var framer = BinaryFramer()
    var noise = 0
    // `opening` is the beginning of the body while the body may be a table. `mayBeCorrections` says whether a byte has
    // arrived that can begin a message.
    var (opening, mayBeCorrections) = ([UInt8](), false)
    var heardAt = clock.now
    var (second, bytesOfSecond) = (heardAt, 0)
    // A caster that computes corrections for the receiver's position sends nothing before it has received that
    // position. The limit for silence therefore applies only after the first position was sent.
    var (isPlaced, nextPosition) = (caster.positionInterval == nil, heardAt)
    while true {
      if piece.count > 0 {
        let body = piece.body
        if opening.count < SourceTable.openingCount {
          opening += body
          if SourceTable.begins(opening) {
            throw try readTable(connection, &answer, opening).lack(of: caster.mountPoint)
          }
        }
        mayBeCorrections = mayBeCorrections || body.contains(CasterVisit.preamble)
        heardAt = clock.now
        noise += piece.count
        if !body.isEmpty { receive(.bytes(body.count)) }
        body.withUnsafeBufferPointer { bytes in
          framer.push(bytes, readAt: heardAt.nanoseconds) { piece in
            guard case .message(let message) = piece, message.format == .rtcm3 else { return }
            noise = 0
            receive(.message(message.kind, Array(message.bytes)))
          }
        }
        if noise > CasterVisit.mostNoise { throw .noCorrections }
        if heardAt - second >= .seconds(1) { (second, bytesOfSecond) = (heardAt, 0) }
        bytesOfSecond += piece.count
        if bytesOfSecond >= CasterVisit.mostBytesASecond,
          poller.wait(for: nil, atMost: .seconds(1) - (clock.now - second)) == .stopped
        {
          throw .stopped
        }
      }
      let isPage = answer.isHTTP && !opening.isEmpty && !mayBeCorrections
      if answer.isOver { throw isPage ? .noCorrections : .closed }
      let now = clock.now
      var deadline = heardAt + patience.silence
      if let interval = caster.positionInterval {
        if now >= nextPosition {
          let sentence = position()
          if let sentence { try connection.send(Array(sentence.utf8), within: patience.answer) }
          if sentence != nil, !isPlaced { (isPlaced, heardAt) = (true, now) }
          nextPosition = now + (sentence == nil ? patience.position : interval)
        }
        deadline = isPlaced ? min(heardAt + patience.silence, nextPosition) : nextPosition
      }
      guard !isPlaced || now < heardAt + patience.silence else { throw .silent }
      do throws(CasterError) {
        piece = try read(connection, &answer, atMost: deadline - now)
      } catch {
        throw error == .closed && isPage ? .noCorrections : error
      }
    }
  }

  // MARK: The table

  private func askForTable() throws(CasterError) -> SourceTable {
    let connection = try connect("")
    var answer = CasterAnswer()
    let body = try readHead(connection, &answer)
    return try readTable(connection, &answer, body)
  }

  /// Reads the rest of the table, or the part of it that arrives within `patience.answer`.
  private func readTable(
    _ connection: borrowing ServerConnection, _ answer: inout CasterAnswer, _ begun: [UInt8]
  ) throws(CasterError) -> SourceTable {
    let deadline = clock.now + patience.answer
    var table = SourceTable()
    var (piece, count) = (Piece(body: begun, count: begun.count), 0)
    while true {
      table.take(piece.body[...])
      count += piece.count
      guard !table.isWhole, !answer.isOver, count < CasterVisit.longestTable, case let left = deadline - clock.now,
        left > .zero
      else {
        return table
      }
      do throws(CasterError) {
        piece = try read(connection, &answer, atMost: left)
      } catch {
        if error == .stopped { throw error }
        return table
      }
    }
  }
}

/// A request to a caster: for a mount point, or for its table of mount points.
enum CasterRequest {
  /// - Parameters:
  ///   - mountPoint: empty for the table
  ///   - password: the user's password, if the board file names one
  ///   - position: the receiver's position as a GGA sentence, if it is known and should be sent; left out for NTRIP 1
  ///   - version: the version of this program
  static func make(
    _ mountPoint: String, of caster: CasterSettings, password: String, position: String?, version: String
  ) -> [UInt8] {
    var lines = ["GET /\(mountPoint) HTTP/1.\(caster.version == 1 ? 0 : 1)"]
    lines.append("Host: \(caster.authority)")
    if caster.version == 2 { lines.append("Ntrip-Version: Ntrip/2.0") }
    // The value must begin with the protocol's name: without it, some casters treat a client as a browser.
    lines.append("User-Agent: NTRIP sensorhub/\(version)")
    if let username = caster.username {
      lines.append("Authorization: Basic \(Data("\(username):\(password)".utf8).base64EncodedString())")
    }
    if let position, caster.version == 2 { lines.append("Ntrip-GGA: \(position.filter { !$0.isNewline })") }
    lines.append("Connection: close")
    return Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
  }
}

/// A caster's mount points, parsed from its source table as the bytes arrive (NTRIP 1, section 4).
struct SourceTable {
  /// The maximum number of names. The largest known caster has five thousand.
  private static let mostNames = 20_000
  private static let longestLine = 1024

  private(set) var mountPoints: [String] = []
  private(set) var isWhole = false
  private var line: [UInt8] = []

  /// The number of bytes at the beginning of a body that show whether it is a table.
  static let openingCount = 16

  /// Whether a body that begins like this is a table, even if its head says otherwise.
  static func begins(_ bytes: [UInt8]) -> Bool {
    let text = bytes.drop { $0 <= 0x20 }
    return ["SOURCETABLE ", "ENDSOURCETABLE", "STR;", "CAS;", "NET;"].contains { text.starts(with: $0.utf8) }
  }

  mutating func take(_ bytes: ArraySlice<UInt8>) {
    for byte in bytes where !isWhole {
      if byte != UInt8(ascii: "\n") {
        if line.count < SourceTable.longestLine { line.append(byte) }
        continue
      }
      takeLine()
      line.removeAll(keepingCapacity: true)
    }
  }

  private mutating func takeLine() {
    if line.starts(with: "ENDSOURCETABLE".utf8) { isWhole = true }
    let fields = line.split(separator: UInt8(ascii: ";"), maxSplits: 2, omittingEmptySubsequences: false)
    guard fields.count > 1, fields[0].elementsEqual("STR".utf8), mountPoints.count < SourceTable.mostNames else {
      return
    }
    mountPoints.append(Text.printable(String(decoding: fields[1].prefix(100), as: UTF8.self)))
  }

  /// The error for a mount point that is not in this table, with similar names.
  func lack(of mountPoint: String) -> CasterError {
    .noSuchMountPoint(
      nearest: NearestWord.guesses(mountPoint, among: mountPoints, atMost: 3), count: mountPoints.count)
  }
}
