import Fusion
import NMEA
import Outputs
import Recording
import SystemPackage

/// States as a table (RFC 4180), one in each row; unknown values are empty.
///
/// A position is in the row of the first state that contains it. It was measured at the row's time minus
/// `position_age`.
struct StateTable: ~Copyable {
  private static let columns: [(field: RecordedState.Field, decimals: Int)] = [
    (.speed, 3), (.track, 2), (.climb, 3), (.roll, 3), (.pitch, 3), (.yaw, 3), (.sigmaYaw, 3), (.pressure, 2),
    (.temperature, 2), (.humidity, 2), (.volts, 3), (.amperes, 5),
  ]

  private let output: ExportOutput
  private var text = JSONWriter(capacity: 1 << 17)

  init(_ output: ExportOutput) {
    self.output = output
    text.fragment("time,mode,lat,lon,alt_msl,sigma_h,sigma_v,speed,track,climb,roll,pitch,heading,heading_sigma,")
    text.fragment("pressure,temperature,humidity,volts,amperes,position_age\r\n")
  }

  mutating func add(_ entry: StatesOfRecording.Entry) throws(Errno) {
    text.text(UTCText.make(entry.time))
    text.fragment(",")
    text.text(entry.state.mode.rawValue)
    add(entry.point?.latitudeDegrees, 9)
    add(entry.point?.longitudeDegrees, 9)
    add(entry.point?.altitudeMSLMetres, 3)
    add(entry.point?.horizontalSigmaMetres, 3)
    add(entry.point == nil ? nil : entry.state.known(.sigmaVertical), 3)
    for column in StateTable.columns { add(entry.state.known(column.field), column.decimals) }
    add(entry.point == nil ? nil : entry.state.known(.positionAge), 3)
    text.fragment("\r\n")
    if text.count > 1 << 16 { try flush() }
  }

  mutating func finish() throws(Errno) { try flush() }

  private mutating func add(_ value: Double?, _ decimals: Int) {
    text.fragment(",")
    if let value { text.fragment(value, decimals: decimals) }
  }

  private mutating func flush() throws(Errno) {
    try output.write(UnsafeRawBufferPointer(text.bytes))
    text.removeAll()
  }
}
