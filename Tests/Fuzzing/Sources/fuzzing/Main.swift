import CLibFuzzer
import FuzzTargets
import Glibc

/// Runs one target: `FUZZING_TARGET=… fuzzing [options of libFuzzer] [folders]`, as `fuzz` next to the package's
/// manifest does. The target is a variable and no argument, because libFuzzer restarts the program with only its own
/// arguments to merge corpora.
@main enum Main {
  /// The type of function that libFuzzer calls. A C function cannot capture which target was chosen, so there is one
  /// for each target.
  private typealias Target = @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32

  private static func function(_ target: FuzzTarget) -> Target {
    switch target {
    case .framing: { fuzz($0, $1, .framing) }
    case .messages: { fuzz($0, $1, .messages) }
    case .sentences: { fuzz($0, $1, .sentences) }
    case .gpsd: { fuzz($0, $1, .gpsd) }
    case .boards: { fuzz($0, $1, .boards) }
    case .addresses: { fuzz($0, $1, .addresses) }
    case .http: { fuzz($0, $1, .http) }
    case .clients: { fuzz($0, $1, .clients) }
    case .states: { fuzz($0, $1, .states) }
    case .casters: { fuzz($0, $1, .casters) }
    case .escapes: { fuzz($0, $1, .escapes) }
    case .dropins: { fuzz($0, $1, .dropins) }
    case .documents: { fuzz($0, $1, .documents) }
    case .recordings: { fuzz($0, $1, .recordings) }
    case .brokers: { fuzz($0, $1, .brokers) }
    }
  }

  static func main() {
    guard let name = getenv("FUZZING_TARGET"), let target = FuzzTarget(rawValue: String(cString: name)) else {
      let message = "fuzzing: FUZZING_TARGET names no target; Tests/Fuzzing/fuzz --help tells which there are\n"
      _ = write(STDERR_FILENO, message, message.utf8.count)
      exit(64)
    }
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments, function(target)))
  }
}

private func fuzz(
  _ data: UnsafePointer<UInt8>?, _ size: Int, _ target: FuzzTarget
) -> Int32 {
  target.run(UnsafeBufferPointer(start: data, count: size))
  return 0
}
