import CLibFuzzer
import Glibc

/// Runs one target: `fuzzing TARGET [options of libFuzzer] [folders]`. `fuzz` beside the package's manifest calls it.
@main enum Main {
  /// What libFuzzer calls. It takes a function of C's, which cannot know which target was chosen: hence one for each.
  private typealias Target = @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32

  private static func target(_ name: String) -> Target? {
    switch name {
    case "framing": { fuzz($0, $1, FramingTarget.run) }
    case "sentences": { fuzz($0, $1, SentenceTarget.run) }
    case "gpsd": { fuzz($0, $1, GPSDTarget.run) }
    case "boards": { fuzz($0, $1, BoardTarget.run) }
    case "addresses": { fuzz($0, $1, AddressTarget.run) }
    case "http": { fuzz($0, $1, HTTPTarget.run) }
    case "clients": { fuzz($0, $1, ClientTarget.run) }
    case "states": { fuzz($0, $1, StateTarget.run) }
    default: nil
    }
  }

  static func main() {
    guard CommandLine.argc > 1, let target = target(CommandLine.arguments[1]) else {
      let message = "fuzzing: no such target; Tests/Fuzzing/fuzz --help names them\n"
      _ = write(STDERR_FILENO, message, message.utf8.count)
      exit(64)
    }
    // libFuzzer takes the second argument for the program's name.
    var count = CommandLine.argc - 1
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
    exit(LLVMFuzzerRunDriver(&count, &arguments, target))
  }
}

private func fuzz(
  _ data: UnsafePointer<UInt8>?, _ size: Int, _ run: (UnsafeBufferPointer<UInt8>) -> Void
) -> Int32 {
  run(UnsafeBufferPointer(start: data, count: size))
  return 0
}
