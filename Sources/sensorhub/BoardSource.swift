import Glibc
import HardwareIO
import Hub
import Outputs

/// The source of the board: a file, or the built-in simulated board.
struct BoardSource {
  let file: String?

  struct Loaded {
    var board: Board
    /// The text of the board file or of the built-in board.
    var text: [UInt8]
    /// The text of the board file; `nil` for the built-in board.
    var fileText: [UInt8]?
  }

  /// Reads the board, and the calibrations of its chips.
  ///
  /// - Parameter warn: called with errors in a chip's calibration, without which a hub can run; `nil` throws them like
  ///   other errors
  func load(warn: ((String) -> Void)? = nil) throws -> Board { try loadWithText(warn: warn).board }

  func loadWithText(warn: ((String) -> Void)? = nil) throws -> Loaded {
    var board: Board
    var text: [UInt8]?
    do throws(BoardError) {
      board =
        if let file {
          try Board(file: file, text: &text)
        } else {
          try Board(json5: PackageResources.simulated_json5, file: "the built-in board")
        }
    } catch {
      throw CommandError(error, in: file ?? "FILE")
    }
    for (index, device) in board.devices.enumerated() {
      guard let place = device.place, device.calibration != nil else { continue }
      do throws(BoardError) {
        guard let file = CalibrationFolder.file(for: place) else { continue }
        board.devices[index] = device.calibrated(try ChipCalibration(file: file))
      } catch {
        let nextStep =
          if case .unreadable(let file, _) = error {
            "make it readable (sudo chmod a+r \(ShellText.word(file))), or remove it"
          } else {
            "calibrate the chip again (sensorhub calibrate), or remove the file"
          }
        guard let warn else { throw CommandError(.data, "\(error)", nextStep: nextStep) }
        warn("\(device.id): continuing without its calibration: \(error); \(nextStep)")
      }
    }
    return Loaded(board: board, text: text ?? PackageResources.simulated_json5, fileText: text)
  }
}

extension CommandError {
  /// The next step after a mistake in a board file, for every command except `check`.
  static func mendsBoardFile(_ file: String) -> String {
    "correct the file; check it with: sensorhub check \(ShellText.word(file))"
  }

  /// - Parameter file: the path of the board file
  init(_ error: BoardError, in file: String) {
    switch error {
    case .unreadable(let file, _) where access(file, F_OK) == 0 && access(file, R_OK) != 0:
      self.init(
        .noPermission, "\(error)",
        nextStep: "give this user permission to read it; ls -l \(ShellText.word(file)) shows who has it")
    case .unreadable:
      self.init(
        .noInput, "\(error)",
        nextStep:
          "give the path of a board file; boards/ contains examples, and sensorhub probe --write FILE creates one")
    default: self.init(.data, "\(error)", nextStep: CommandError.mendsBoardFile(file))
    }
  }

  /// Makes an error with the next step that fits the use of the socket.
  ///
  /// - Parameter isClient: whether the path is the socket of a hub to connect to, and not a file to open
  init(_ error: SocketError, isClient: Bool = false) {
    switch error {
    case .inUse: self.init(.unavailable, "\(error)", nextStep: "stop the other hub, or give this one its own --socket")
    case .notSocket:
      self.init(.inputOutput, "\(error)", nextStep: "move it away, or name another path with --socket")
    case .notRunning: self.init(.unavailable, "\(error)", nextStep: InstalledService().start)
    case .noPermission where isClient:
      self.init(
        .noPermission, "\(error)",
        nextStep: "run the command as the hub's user or as root (sudo); ls -l on the socket shows the hub's user")
    case .noPermission:
      self.init(
        .noPermission, "\(error)", nextStep: "choose a path in a folder of your own: --socket /tmp/sensorhub/hub.sock")
    case .untrusted(let folder): self.init(.noPermission, "\(error)", nextStep: folder.nextStep)
    case .system(_, "opening the folder", _):
      self.init(.inputOutput, "\(error)", nextStep: "make the folder, or name a path in another one with --socket")
    case .system, .portInUse: self.init(.inputOutput, "\(error)")
    }
  }
}
