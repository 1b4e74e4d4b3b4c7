import ArgumentParser
import Hub

/// Explains mistakes in a command's arguments that the parser only calls unexpected.
enum UsageHint {
  /// The mistake in a subcommand among the first arguments, also after `help`; `nil` if there is none.
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
        return "there is no subcommand '\(word)'\(whose); \(guess ?? "valid ones are \(known.joined(separator: ", "))")"
      }
      command = next
      words = words.dropFirst()
      // A command with a default subcommand checks its other arguments itself: the next word may be one of them.
    } while wantsHelp || command.configuration.defaultSubcommand == nil
    return nil
  }

  private static func name(of command: any ParsableCommand.Type) -> String {
    command.configuration.commandName ?? "\(command)".lowercased()
  }

  /// The parser's message with a guess of what the user meant; `nil` without a guess.
  static func rewritten(_ message: String, arguments: some Collection<String>) -> String? {
    if arguments.first == "run", let file = quoted(after: "Unexpected argument '", in: message) {
      return message.replacing("Unexpected argument '\(file)'", with: "to name a board file, use --board \(file)")
    }
    // The parser misunderstood an argument. Often the mistake is in an argument or option before it.
    guard let word = quoted(after: "The value '", in: message), let usage = message.firstRange(of: "\nUsage: ") else {
      return nil
    }
    guard let mistake = optionMistake(in: arguments) ?? fleetMistake(word, in: arguments) else { return nil }
    return "Error: \(mistake)\(message[usage.lowerBound...])"
  }

  private static func quoted(after words: String, in message: String) -> Substring? {
    guard let start = message.firstRange(of: words),
      let end = message[start.upperBound...].firstIndex(of: "'")
    else { return nil }
    return message[start.upperBound..<end]
  }

  /// A message about the first unknown option, whose value was taken as an argument; `nil` if all options are known.
  private static func optionMistake(in arguments: some Collection<String>) -> String? {
    let known = options(of: command(of: arguments))
    for argument in arguments {
      // Arguments after `--` are never options.
      if argument == "--" { return nil }
      guard argument.hasPrefix("--") else { continue }
      let name = String(argument.prefix { $0 != "=" })
      guard !known.contains(name) else { continue }
      let guess = NearestWord.guess(name, among: known).map { "; did you mean '\($0)'?" }
      return "there is no option '\(name)'\(guess ?? "")"
    }
    return nil
  }

  /// Explains an unknown subcommand of `fleet`. `fleet` without a subcommand lists hubs, so the parser took the word
  /// for a broker.
  private static func fleetMistake(_ word: Substring, in arguments: some Collection<String>) -> String? {
    let known = Fleet.configuration.subcommands.map(name)
    guard Array(arguments.prefix(2)) == ["fleet", String(word)], !word.contains(":"),
      let guess = NearestWord.guess(String(word), among: known)
    else { return nil }
    return "there is no subcommand '\(word)' of 'fleet'; did you mean '\(guess)'?"
  }

  private static func command(of arguments: some Collection<String>) -> any ParsableCommand.Type {
    var command: any ParsableCommand.Type = SensorHub.self
    for word in arguments {
      guard let next = command.configuration.subcommands.first(where: { name(of: $0) == word }) else { break }
      command = next
    }
    return command.configuration.defaultSubcommand ?? command
  }

  /// The options as in the command's help, such as `--json`; for an invertible flag, both words.
  private static func options(of command: any ParsableCommand.Type) -> [String] {
    let words = SensorHub.helpMessage(for: command).split { $0 != "-" && !$0.isLetter }
    return words.filter { $0.hasPrefix("--") }.map(String.init)
  }
}
