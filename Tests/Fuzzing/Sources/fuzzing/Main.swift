import CLibFuzzer
import Glibc

/// Runs one target: `FUZZING_TARGET=… fuzzing [options of libFuzzer] [folders]`, as `fuzz` beside the package's manifest does. A
/// variable, and no argument: to merge corpora libFuzzer starts the program again, with its own arguments alone.
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
    guard let name = getenv("FUZZING_TARGET"), let target = target(String(cString: name)) else {
      let message = "fuzzing: FUZZING_TARGET names no target; Tests/Fuzzing/fuzz --help tells which there are\n"
      _ = write(STDERR_FILENO, message, message.utf8.count)
      exit(64)
    }
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments, target))
  }
}

private func fuzz(
  _ data: UnsafePointer<UInt8>?, _ size: Int, _ run: (UnsafeBufferPointer<UInt8>) -> Void
) -> Int32 {
  run(UnsafeBufferPointer(start: data, count: size))
  return 0
}
