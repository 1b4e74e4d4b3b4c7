/// Text in Prometheus' text format 0.0.4 (prometheus.io, "Exposition formats").
public enum PrometheusText {
  /// A label's value between quotes: anything, with three characters written otherwise.
  ///
  /// By scalars: a quote before a combining mark is a letter of its own to Swift, and a quote to who scrapes.
  public static func label(_ value: String) -> String {
    value.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }

  /// The text of a metric, with two characters escaped.
  public static func help(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }

  /// `badChecksum` as Prometheus writes names: `bad_checksum`.
  public static func name(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { name, scalar in
      switch scalar {
      case "A"..."Z": name += "_" + String(scalar).lowercased()
      case "a"..."z", "0"..."9": name.unicodeScalars.append(scalar)
      default: name += "_"
      }
    }
  }
}
