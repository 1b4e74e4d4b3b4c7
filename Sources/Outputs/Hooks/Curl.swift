import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime

/// Posts JSON with curl(1), in a separate process.
///
/// The hub itself has no HTTP client, and TLS only for casters and brokers. curl supports TLS, the system's certificate
/// authorities and proxies, and the system keeps curl up to date. A server's answer never reaches the hub's memory.
/// curl reads the address and the token from its standard input, so no list of processes shows them.
public struct Curl: Sendable {
  private static let paths = ["/usr/bin/curl", "/bin/curl", "/usr/local/bin/curl"]
  private static let seconds = 20

  public static let missing = "curl is not installed, and hooks need it to send requests: sudo apt-get install curl"

  /// The path of curl; `nil` if it is not installed.
  public static var path: String? { paths.first { access($0, X_OK) == 0 } }

  private let webhook: HookSettings.Webhook

  init(_ webhook: HookSettings.Webhook) { self.webhook = webhook }

  func post(_ notice: HookNotice, stop: StopSignal) -> HookOutcome {
    guard let path = Curl.path else { return .failed(Curl.missing, isRefusal: true) }
    var token: String?
    if let file = webhook.tokenFile {
      if let refusal = SecretFile.refusal(ofBoards: file) { return .failed("\(file): \(refusal)", isRefusal: true) }
      do throws(SecretFile.Failure) {
        token = try SecretFile.read(file, orCredential: "").map { String(decoding: $0.secret, as: UTF8.self) }
      } catch {
        return .failed("the token cannot be read from \(error.file): \(error.reason)", isRefusal: true)
      }
    }
    let input = Curl.configuration(of: webhook, token: token, notice)
    // -q comes first, so that curl ignores the user's own settings.
    let command = HookCommand(
      words: [path, "-q", "--config", "-"], input: Array(input.utf8), limit: .seconds(Int64(Curl.seconds + 5)))
    return outcome(command.run(stop: stop))
  }

  /// The configuration that curl reads from its standard input (curl(1), "--config").
  static func configuration(of webhook: HookSettings.Webhook, token: String?, _ notice: HookNotice) -> String {
    var lines = [
      "url = \(quoted(webhook.url))", "request = \"POST\"", "header = \"Content-Type: application/json\"",
      // Without this line, curl first asks whether the server accepts a body, and some servers never answer.
      "header = \"Expect:\"", "user-agent = \"SensorHub\"",
    ]
    // Both ntfy and Gotify accept the token in this header.
    if let token { lines.append("header = \(quoted("Authorization: Bearer \(token)"))") }
    let json = String(decoding: notice.json(topic: webhook.topic), as: UTF8.self)
    lines += [
      "data-raw = \(quoted(json))", "silent", "show-error", "globoff", "proto = \"=http,https\"", "max-redirs = 0",
      "connect-timeout = 10", "max-time = \(seconds)", "output = \"/dev/null\"", "write-out = \"\\n%{http_code}\"",
    ]
    return lines.map { "\($0)\n" }.joined()
  }

  /// Quotes a text for curl, so that no part of it can begin another option.
  private static func quoted(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "\"") { quoted, scalar in
      switch scalar {
      case "\\": quoted += "\\\\"
      case "\"": quoted += "\\\""
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      default: quoted.unicodeScalars.append(scalar)
      }
    } + "\""
  }

  private func outcome(_ result: HookCommand.Result) -> HookOutcome {
    let lines = result.output.split(separator: "\n").map(String.init)
    switch result.end {
    case .stopped: return .stopped
    case .late: return .failed("\(webhook.origin) did not answer", isRefusal: false)
    case .notStarted(let error):
      return .failed("curl cannot be run: \(String(cString: strerror(error)))", isRefusal: true)
    case .killed(let signal): return .failed("curl was killed by signal \(signal)", isRefusal: false)
    case .exited(let status):
      if status == 0, let code = lines.last.flatMap({ Int($0) }) {
        if (200..<300).contains(code) { return .taken }
        return .failed(
          "\(webhook.origin) answers with status \(code)\(Curl.advice(code))", isRefusal: (300..<500).contains(code))
      }
      let words = lines.first { $0.hasPrefix("curl: ") }.map { String($0.dropFirst("curl: ".count)) }
      let reason = words ?? "curl ended with status \(status)"
      return .failed("\(webhook.origin): \(Text.printable(reason))", isRefusal: false)
    }
  }

  private static func advice(_ code: Int) -> String {
    switch code {
    case 300..<400: ": the server redirects to another address; set 'url' to that address"
    case 401, 403: ": the server refused the token; check 'tokenFile'"
    case 404, 405: ": check the path in 'url'"
    case 400, 422: ": the server does not accept this JSON; for ntfy set 'topic', and 'url' without a path"
    default: ""
    }
  }
}
