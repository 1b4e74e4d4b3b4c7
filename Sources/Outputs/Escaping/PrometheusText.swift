/// Escapes text for Prometheus' text format 0.0.4 (prometheus.io, "Exposition formats").
public enum PrometheusText {
  /// The value of a label between quotes. Any text is possible; backslash, quote and line feed are escaped.
  ///
  /// It works on scalars: Swift joins a quote and a combining mark into one character, but Prometheus sees a quote.
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

  /// A metric's help text, with backslash and line feed escaped.
  public static func help(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }

  /// A name in Prometheus' style: `badChecksum` becomes `bad_checksum`.
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
