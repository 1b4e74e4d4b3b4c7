/// The protocol by which a client of gpsd requests and receives sentences.
struct GPSDSentences {
  /// Returns the request, which the client sends after gpsd's greeting.
  static func request(for device: String?) -> String {
    let choice = device.map { #","device":"\#($0)""# } ?? ""
    return #"?WATCH={"enable":true,"nmea":true\#(choice)};"# + "\n"
  }

  private var isReport = false
  private var isLineStart = true

  /// Removes gpsd's own reports from received bytes. A report is a JSON object on a line.
  ///
  /// - Parameters:
  ///   - buffer: the received bytes, which continue the bytes of the previous call
  ///   - count: how many bytes were received
  /// - Returns: the number of bytes that remain, at the beginning of the buffer
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
