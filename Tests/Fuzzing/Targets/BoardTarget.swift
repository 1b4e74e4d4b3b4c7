@testable import Hub

/// A board file.
enum BoardTarget {
  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    do throws(BoardError) {
      let board = try Board(json5: Array(input), file: "board")
      require(board.stateRateHz >= 0.01, "a rate of \(board.stateRateHz)")
      let nmea = board.nmea.compactMap { port in if case .clients(let endpoint) = port.place { endpoint } else { nil } }
      for endpoint in [board.gpsdEndpoint, board.http?.endpoint].compactMap(\.self) + nmea {
        require(!endpoint.sockets.isEmpty, "a port that listens nowhere")
      }
    } catch {
      let lines = input.reduce(1) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
      require(!"\(error)".isEmpty, "an error without a word")
      if let line = error.line { require((1...lines).contains(line), "an error in line \(line) of \(lines)") }
    }
  }
}

extension BoardError {
  fileprivate var line: Int? {
    switch self {
    case .syntax(_, let line, _), .missingKey(_, let line, _), .unknownKey(_, let line, _, _),
      .misplacedKey(_, let line, _, _), .wrongValue(_, let line, _, _):
      line
    default: nil
    }
  }
}
