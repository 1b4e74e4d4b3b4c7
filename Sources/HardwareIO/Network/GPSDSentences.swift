/// The requests and answers by which a client of a gpsd gets sentences.
struct GPSDSentences {
  /// The request, sent after gpsd's greeting.
  static func request(for device: String?) -> String {
    let choice = device.map { #","device":"\#($0)""# } ?? ""
    return #"?WATCH={"enable":true,"nmea":true\#(choice)};"# + "\n"
  }

  private var isReport = false
  private var isLineStart = true

  /// Removes gpsd's own reports, which are JSON objects on a line each, from bytes that were received.
  ///
  /// - Parameters:
  ///   - buffer: begins where the bytes of the call before ended
  ///   - count: how many of them were received
  /// - Returns: the number of bytes that are left, at the beginning of the buffer
  mutating func keepSentences(in buffer: UnsafeMutableRawBufferPointer, count: Int) -> Int {
    var kept = 0
    for index in 0..<count {
      let byte = buffer[index]
      if isLineStart { isReport = byte == UInt8(ascii: "{") }
      isLineStart = byte == UInt8(ascii: "\n")
      if isReport { continue }
      buffer[kept] = byte
      kept += 1
    }
    return kept
  }
}
