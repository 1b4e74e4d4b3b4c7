import ArgumentParser
import Hub
import NMEA
import Outputs
import SystemPackage

/// Turns a receiver's output into the objects that gpsd would send.
struct Decode: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Decode a receiver's NMEA 0183, UBX or CASIC into JSON objects as gpsd prints them.",
    discussion: """
      Prints one TPV per epoch, SKY and GST if the receiver sent them, and ATT as it arrives. The last line, on standard \
      error, counts what was read. A file without a position or an attitude is an error.

      Example: sensorhub decode gps.nmea | jq 'select(.class == "TPV") | .lat, .lon'
      """)

  @Argument(help: "A receiver's log, or - for standard input.")
  var file: String

  func run() throws {
    let input = try open()
    defer { if file != "-" { try? input.close() } }
    var decoder = GPSDDecoder()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    defer { buffer.deallocate() }
    var byteCount = 0
    do {
      while true {
        let count = try input.read(into: buffer)
        if count == 0 { break }
        if byteCount == 0, buffer[..<count].starts(with: Decode.beginningOfMCAP) { throw isRecordingOfHub }
        byteCount += count
        decoder.decode(UnsafeBufferPointer(rebasing: buffer.bindMemory(to: UInt8.self)[..<count]))
        try flush(&decoder)
      }
      decoder.finish()
      try flush(&decoder)
    } catch Errno.brokenPipe {
      // The program that reads the output has ended.
      return
    } catch Errno.isDirectory {
      throw CommandError(
        .noInput, "\(title) is a folder", nextStep: "give a file with a receiver's output, or - for standard input")
    } catch let error as Errno {
      throw CommandError(
        .inputOutput, "cannot read \(title): \(error)", nextStep: "check that its disk is still connected")
    }
    guard byteCount > 0 else {
      throw CommandError(
        .data, "\(title) is empty",
        nextStep: "give a file with a receiver's output, or pipe it in: cat FILE | sensorhub decode -")
    }
    guard !decoder.isEmpty else {
      throw CommandError(
        .data, "\(title) contains no position and no attitude: \(decoder.summary)",
        nextStep: "give a file with NMEA 0183 (lines such as $GPRMC,… or $GNGGA,…), UBX or CASIC")
    }
    Terminal.standardError(decoder.summary)
  }

  /// The first bytes of an MCAP file: https://mcap.dev/spec#magic
  private static let beginningOfMCAP: [UInt8] = [0x89] + Array("MCAP".utf8)

  /// The input's name in messages.
  private var title: String { file == "-" ? "standard input" : "'\(Text.printable(file))'" }

  private var isRecordingOfHub: CommandError {
    let name = file == "-" ? "FILE" : Text.printable(ShellText.word(file))
    return CommandError(
      .data, "\(title) is a hub's recording (MCAP), not a receiver's log",
      nextStep: "sensorhub export \(name) --format nmea | sensorhub decode -")
  }

  private func flush(_ decoder: inout GPSDDecoder) throws {
    do {
      try decoder.takeOutput { bytes in _ = try FileDescriptor.standardOutput.writeAll(bytes) }
    } catch let error as Errno where error != .brokenPipe {
      throw Terminal.isNotWritten(error)
    }
  }

  private func open() throws -> FileDescriptor {
    if file == "-" { return .standardInput }
    do {
      return try FileDescriptor.open(FilePath(file), .readOnly)
    } catch Errno.noSuchFileOrDirectory {
      throw CommandError(
        .noInput, "there is no file \(title)", nextStep: "give a recording's path, or - for standard input")
    } catch Errno.permissionDenied {
      throw CommandError(.noPermission, "no permission to read \(title)", nextStep: "ls -l \(ShellText.word(file))")
    } catch let error as Errno {
      throw CommandError(.noInput, "cannot open \(title): \(error)")
    }
  }
}
