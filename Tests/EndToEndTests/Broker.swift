import Glibc
import TestSupport
import Testing

/// Debian's mosquitto on its own port, and its clients. Its retained messages outlive a restart.
final class Broker {
  let port = SocketClient.freePort()
  private let temporary = TemporaryFolder("broker")
  var folder: String { temporary.path }
  /// The options that clients need to connect.
  private let access: [String]
  private var program: Program?
  /// A topic with a retained message that sorts last.
  private static let end = "tests/end"
  private var hasEnd = false

  /// - Parameters:
  ///   - settings: lines for its configuration, by default one that admits all clients; gets the folder for its files
  ///   - access: options for its clients; gets the same folder
  init(
    _ settings: (_ folder: String) -> String = { _ in "allow_anonymous true" },
    access: (String) -> [String] = { _ in [] }
  ) {
    let folder = temporary.path
    let user = getpwuid(getuid()).map { String(cString: $0.pointee.pw_name) } ?? "root"
    HubProcess.write(
      """
      listener \(port) 127.0.0.1
      user \(user)
      persistence true
      persistence_location \(folder)/
      max_queued_messages 0
      \(settings(folder))

      """, to: folder + "/mosquitto.conf")
    self.access = access(folder)
    start()
  }

  deinit {
    stop()
  }

  func start() {
    let program = Program(["-c", folder + "/mosquitto.conf"], path: "/usr/sbin/mosquitto")
    self.program = program
    if !program.logs("running") { Issue.record("the broker does not start: \(program.standardError)") }
  }

  func stop() {
    // mosquitto forgets a signal that arrives between its log line and its main loop.
    guard let program else { return }
    repeat { program.send(SIGTERM) } while !program.ends(within: .milliseconds(200))
    program.wait()
    self.program = nil
  }

  var address: String { "mqtt://127.0.0.1:\(port)" }

  /// Publishes a message as a client without other tasks.
  ///
  /// - Returns: whether the broker has taken it
  @discardableResult
  func publish(_ topic: String, _ text: String, retained: Bool = true, _ options: [String] = []) -> Bool {
    let message = text.isEmpty ? ["-n"] : ["-m", text]
    let client = Program(
      ["-V", "5", "-h", "127.0.0.1", "-p", "\(port)", "-q", "1", "-t", topic] + message + (retained ? ["-r"] : [])
        + access + options,
      path: "/usr/bin/mosquitto_pub")
    return client.wait() == 0
  }

  /// A subscriber. It prints each message as a line: the topic, a blank and the message.
  func listen(_ topics: [String], _ options: [String] = []) -> Program {
    Program(
      ["-V", "5", "-h", "127.0.0.1", "-p", "\(port)", "-q", "1", "-v"] + topics.flatMap { ["-t", $0] } + access
        + options,
      path: "/usr/bin/mosquitto_sub")
  }

  /// A subscriber that gets all messages from now on: the broker has confirmed its subscriptions.
  func joinedListener(_ topics: [String], _ options: [String] = []) -> Program {
    hasEnd = hasEnd || publish(Broker.end, "end")
    // The retained message of the last subscription comes after all subscriptions have begun.
    let listener = listen(topics + [Broker.end], options)
    _ = listener.prints("\(Broker.end) end\n")
    return listener
  }

  /// Waits until the message retained under a topic, or a later message, contains `text`.
  func tells(_ text: String, on topic: String) -> Bool {
    let listener = listen([topic])
    defer {
      listener.send(SIGTERM)
      listener.wait()
    }
    return listener.prints(text)
  }

  /// Waits until a message is retained under a topic.
  func retainsAny(on topic: String) -> Bool { tells("\(topic) ", on: topic) }

  /// Waits until this text is retained under a topic; `nil` waits until nothing is.
  func retains(_ text: String?, on topic: String) -> Bool {
    guard let text else { return retainsNothing(on: topic) }
    let listener = listen([topic], ["--retain-as-published", "--retained-only"])
    defer {
      listener.send(SIGTERM)
      listener.wait()
    }
    return listener.prints("\(topic) \(text)\n")
  }

  private func retainsNothing(on topic: String) -> Bool {
    let listener = joinedListener([topic])
    defer {
      listener.send(SIGTERM)
      listener.wait()
    }
    // A retained message comes before that of the end topic, and its removal is a message without content.
    return listener.lines.first?.hasPrefix(Broker.end + " ") == true || listener.prints("\(topic) (null)\n")
  }

  /// The message retained under a topic; `nil` for none.
  func retained(_ topic: String) -> String? {
    hasEnd = hasEnd || publish(Broker.end, "end")
    // A broker sends retained messages topic by topic. If the message of the end topic comes first, no message is
    // retained under the other topic.
    let listener = listen([topic, Broker.end])
    _ = listener.prints("\n")
    listener.send(SIGTERM)
    listener.wait()
    guard let line = listener.lines.first, !line.hasPrefix(Broker.end + " ") else { return nil }
    return String(line.drop { $0 != " " }.dropFirst())
  }

  /// The messages retained under topics, each with its topic and a blank before it.
  ///
  /// - Parameter filter: with `+` or `#` for many topics
  func allRetained(_ filter: String) -> [String] {
    hasEnd = hasEnd || publish(Broker.end, "end")
    // The retained messages of the first subscription come before the one of the second.
    let listener = listen([filter, Broker.end])
    _ = listener.prints("\(Broker.end) end\n")
    listener.send(SIGTERM)
    listener.wait()
    return listener.lines.filter { !$0.hasPrefix(Broker.end + " ") }
  }
}
