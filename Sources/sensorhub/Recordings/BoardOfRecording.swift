import Hub
import MCAP
import Recording

/// Finds the board with which a recording was made.
enum BoardOfRecording {
  /// The board's name in the recorded board file; `nil` if the recording has none, or this program cannot read it.
  static func name(_ reader: MCAPReader<MCAPFileSource>) -> String? { board(reader)?.name }

  /// The board as the recorded board file describes it.
  static func board(_ reader: MCAPReader<MCAPFileSource>) -> Board? {
    guard let text = RecordedMessages.facts(named: "board", of: reader)["file"] else { return nil }
    return try? Board(json5: Array(text.utf8), file: "board")
  }

  /// The board in a recording's facts, or in another board file, with the calibrations that the recording contains.
  static func board(_ facts: RecordedFacts, file: String?) throws(CommandError) -> Board {
    if let file {
      do throws(BoardError) {
        return try calibrated(try Board(file: file), by: facts)
      } catch {
        throw CommandError(error, in: file)
      }
    }
    guard let text = facts["board"]["file"] else {
      throw CommandError(
        .data, "the recording does not contain its board file", nextStep: "name the board's file: --board FILE"
      )
    }
    do throws(BoardError) {
      return try calibrated(Board(json5: Array(text.utf8), file: "the recording's board file"), by: facts)
    } catch {
      throw CommandError(
        .data, "\(error)",
        nextStep: "this version may have other keys than the version that recorded: give a board file with --board FILE"
      )
    }
  }

  private static func calibrated(_ board: Board, by facts: RecordedFacts) throws(BoardError) -> Board {
    var board = board
    let calibrations = facts["calibration"]
    for (index, device) in board.devices.enumerated() {
      guard let text = calibrations[device.id] else { continue }
      board.devices[index] = device.calibrated(
        try ChipCalibration(json5: Array(text.utf8), file: "the recording's calibration of \(device.id)"))
    }
    return board
  }
}
