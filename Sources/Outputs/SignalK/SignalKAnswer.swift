/// A Signal K server's answer to one HTTP request, parsed as it arrives.
struct SignalKAnswer {
  /// The greatest number of bytes of a body. An answer to an access request has a few hundred.
  private static let longestBody = 16 * 1024
  /// The statuses with a body that says more than the status.
  private static let told = [200, 202, 400]

  private(set) var head = HTTPAnswerHead()
  private(set) var body: [UInt8] = []
  private var chunks: ChunkedBody?
  /// The length of the body; `nil` if the end of the connection ends it.
  private var length: Int?

  var status: Int? { head.status }

  /// Whether everything that matters has arrived.
  var isOver: Bool {
    guard let status else { return false }
    return !SignalKAnswer.told.contains(status) || chunks?.isOver == true || length.map { body.count >= $0 } == true
  }

  mutating func take(_ bytes: [UInt8]) throws(SignalKServerError) {
    var rest = bytes[...]
    if status == nil {
      do throws(WebSocketHandshake.Failure) {
        guard let after = try head.take(bytes) else { return }
        rest = after
      } catch {
        throw .handshake(error)
      }
      let isChunked = head["transfer-encoding"]?.lowercased().contains("chunked") == true
      if isChunked { chunks = ChunkedBody() } else { length = head["content-length"].flatMap { Int($0) } }
    }
    if chunks == nil {
      body += rest
    } else {
      do throws(CasterError) {
        try chunks?.take(rest) { body += $0 }
      } catch {
        throw .connection(error)
      }
    }
    if body.count > SignalKAnswer.longestBody { throw .floods }
  }
}
