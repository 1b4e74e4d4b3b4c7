import Devices
import Hub
import NMEA
import UBX

/// Selects the data for a client that reads a receiver's own output. Sentences are passed on as received, or made from
/// the epochs of a receiver that reports in binary messages. Binary messages are passed on in hexadecimal digits or as
/// received.
///
/// A receiver may send both. As long as its own sentences contain positions, no sentences are made.
struct ReceiverFeed {
  /// After this number of epochs without a position in the receiver's own sentences, sentences are made from its
  /// epochs.
  private static let patience = 3

  private var hasMessages = false
  private var epochsWithoutSentence = patience - 1

  /// Returns the bytes to send for one output of the receiver; empty if there are none.
  ///
  /// - Parameters:
  ///   - sentences: whether to include sentences
  ///   - raw: 0 for no binary messages; 1 for sentences, and messages in hexadecimal digits, one per line; 2 for all
  ///     bytes as received
  mutating func bytes(of output: ReceiverOutput, sentences: Bool = true, raw: Int = 0) -> [UInt8] {
    switch output {
    case .bytes(let received):
      guard received.isBinary else {
        if ReceiverFeed.statePosition(received.bytes) { epochsWithoutSentence = 0 }
        return sentences || raw > 0 ? received.bytes : []
      }
      hasMessages = true
      return raw > 1 ? received.bytes : raw == 1 ? ReceiverFeed.digits(received.bytes) : []
    case .epoch(let epoch):
      epochsWithoutSentence = min(epochsWithoutSentence + 1, ReceiverFeed.patience)
      guard sentences, hasMessages, epochsWithoutSentence == ReceiverFeed.patience else { return [] }
      return Array(EpochSentences.make(of: epoch).utf8)
    }
  }

  /// Whether the sentences include one with a position. Every receiver sends at least one of these in each epoch.
  private static func statePosition(_ sentences: [UInt8]) -> Bool {
    sentences.split(separator: UInt8(ascii: "\n")).contains { line in
      guard line.count > 6, line.first == UInt8(ascii: "$") else { return false }
      let name = line.dropFirst(3).prefix(3)
      return ["GGA", "RMC", "GNS", "GLL"].contains { name.elementsEqual($0.utf8) }
    }
  }

  /// Writes each message as a line of hexadecimal digits, as gpsd does.
  private static func digits(_ messages: [UInt8]) -> [UInt8] {
    let hexadecimal = Array("0123456789abcdef".utf8)
    var lines: [UInt8] = []
    var framer = ReceiverFramer()
    messages.withUnsafeBufferPointer { bytes in
      framer.push(bytes) { frame in
        guard case .message(let message) = frame else { return }
        for byte in message.bytes {
          lines.append(hexadecimal[Int(byte >> 4)])
          lines.append(hexadecimal[Int(byte & 0xF)])
        }
        lines += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
      }
    }
    return lines
  }
}

/// Makes sentences from an epoch of a receiver that reports in binary messages: RMC, GGA, VTG, GST, ZDA, GSA and GSV. A
/// client that reads a receiver's own sentences gets them instead. gpsd does the same for such receivers (RMC, GGA,
/// GSA, GBS, GSV and ZDA).
enum EpochSentences {
  static func make(of epoch: GNSSObservation) -> String {
    let fix = epoch.fix
    let place = fix.mode >= .twoDimensional ? fix.position : nil
    let time = fix.time.map { SentenceField.time($0) } ?? ""
    let status = Int(fix.status.rawValue)
    let letter = place == nil ? "N" : FixLetter.mode(ofStatus: status)
    let coordinate = place.map { SentenceField.coordinate($0.latitudeDegrees, $0.longitudeDegrees) } ?? ",,,"
    let knots = place == nil ? nil : fix.speedMetresPerSecond.map { SentenceText.knots($0) }
    let track = place == nil ? nil : fix.trackDegrees.map { SentenceText.bearing($0, 1) }
    let variation = place == nil ? nil : fix.magneticVariationDegrees.map { SentenceText.eastOrWest($0) }
    let recommended: [String] = [
      "GPRMC", time, place == nil ? "V" : "A", coordinate, knots ?? "", track ?? "",
      fix.time.map { SentenceField.date($0) } ?? "", variation ?? ",", letter,
    ]
    var text = SentenceWriter.make(recommended.joined(separator: ","))
    text += SentenceWriter.make(positionFields(fix, place, time, coordinate).joined(separator: ","))
    if let knots, let speed = fix.speedMetresPerSecond {
      let magnetic = fix.magneticTrackDegrees.map { SentenceText.bearing($0, 1) } ?? ""
      let kilometres = SentenceField.fixed(speed * 3.6, 2)
      text += SentenceWriter.make("GPVTG,\(track ?? ""),T,\(magnetic),M,\(knots),N,\(kilometres),K,\(letter)")
    }
    if place != nil, let sigma = fix.horizontalErrorMetres {
      let axis = SentenceText.sigma(sigma, 2)
      let vertical = fix.verticalErrorMetres.map { SentenceText.sigma($0, 2) } ?? ""
      text += SentenceWriter.make("GPGST,\(time),,\(axis),\(axis),0.0,\(axis),\(axis),\(vertical)")
    }
    if let utc = fix.time {
      let date = utc.rounded.components.date
      let (day, month) = (SentenceField.padded(Int(date.day), 2), SentenceField.padded(Int(date.month), 2))
      text += SentenceWriter.make("GPZDA,\(time),\(day),\(month),\(date.year),00,00")
    }
    if !epoch.sky.isEmpty {
      text += SatelliteSentences.used(epoch, mode: Int(fix.mode.rawValue)) + SatelliteSentences.inView(epoch.sky)
    }
    return text
  }

  private static func positionFields(
    _ fix: GNSSFix, _ place: Coordinate?, _ time: String, _ coordinate: String
  ) -> [String] {
    let quality = place == nil ? 0 : FixLetter.quality(ofStatus: Int(fix.status.rawValue))
    let used = fix.satellitesUsed.map { SentenceField.padded(Int($0), 2) } ?? ""
    let hdop = fix.hdop.map { SentenceField.fixed($0, 1) } ?? ""
    let altitude = place == nil ? nil : fix.altitudeMSLMetres.map { SentenceText.altitude($0) }
    let separation = place == nil ? nil : fix.geoidSeparationMetres.map { SentenceField.fixed($0, 1) }
    let age = fix.differentialAgeSeconds.map { SentenceField.fixed($0, 1) } ?? ""
    let station = fix.differentialStation.map { SentenceField.padded(Int($0), 4) } ?? ""
    return [
      "GPGGA", time, coordinate, "\(quality)", used, hdop, altitude ?? "", "M", separation ?? "", "M", age, station,
    ]
  }
}
