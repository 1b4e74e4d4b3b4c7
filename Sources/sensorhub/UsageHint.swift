import ArgumentParser
import Hub

/// Mistakes in a command's words that the parser of options names only as unexpected, in the words of what was meant.
enum UsageHint {
  /// What is wrong with the subcommand that the first words name, those of `help` included; `nil` where nothing is.
  static func subcommandMistake(in arguments: some Collection<String>) -> String? {
    var words = arguments[...]
    var command: any ParsableCommand.Type = SensorHub.self
    let wantsHelp = words.first == "help"
    if wantsHelp { words = words.dropFirst() }
    repeat {
      let subcommands = command.configuration.subcommands
      guard let word = words.first, word != "help", !word.hasPrefix("-"), !subcommands.isEmpty else { return nil }
      guard let next = subcommands.first(where: { name(of: $0) == word }) else {
        let known = subcommands.map(name)
        let whose = command == SensorHub.self ? "" : " of '\(name(of: command))'"
        let guess = NearestWord.guess(word, among: known).map { "did you mean '\($0)'?" }
        return "there is no subcommand '\(word)'\(whose); \(guess ?? "there are \(known.joined(separator: ", "))")"
      }
      command = next
      words = words.dropFirst()
      // What else a command takes is its own.
    } while wantsHelp
    return nil
  }

  private static func name(of command: any ParsableCommand.Type) -> String {
    command.configuration.commandName ?? "\(command)".lowercased()
  }

  /// The parser's message with what was most likely meant; `nil` where that is not known.
  static func rewritten(_ message: String, arguments: some Collection<String>) -> String? {
    let unexpected = "Unexpected argument '"
    guard arguments.first == "run", let start = message.firstRange(of: unexpected),
      let end = message[start.upperBound...].firstRange(of: "'\n")
    else { return nil }
    let file = message[start.upperBound..<end.lowerBound]
    return message.replacing("\(unexpected)\(file)'", with: "a board file is named with --board \(file)")
  }
}
