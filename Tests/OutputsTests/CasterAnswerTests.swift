import Hub
import TestSupport
import Testing

@testable import Outputs

/// The answers of casters are parsed correctly however they are cut.
struct CasterAnswerTests {
  private static let corrections = MadeMessage.correction(1005) + MadeMessage.correction(1077, byteCount: 300)

  private struct Read: Equatable {
    var body: [UInt8] = []
    var kind: CasterAnswer.Body?
    var error: CasterError?
    var isOver = false
  }

  private func read(_ pieces: some Sequence<some Sequence<UInt8>>) -> Read {
    var (answer, read) = (CasterAnswer(), Read())
    do throws(CasterError) {
      for piece in pieces { try answer.take(Array(piece)[...]) { read.body += $0 } }
    } catch {
      read.error = error
    }
    read.kind = answer.body
    read.isOver = answer.isOver
    return read
  }

  private func chunked(_ bytes: [UInt8], by size: Int) -> [UInt8] {
    stride(from: 0, to: bytes.count, by: size).flatMap { start in
      let chunk = bytes[start..<min(start + size, bytes.count)]
      return Array("\(String(chunk.count, radix: 16));name=value\r\n".utf8) + chunk + Array("\r\n".utf8)
    }
  }

  @Test func `corrections are found after each kind of header, in reads of any size`() {
    let http = "HTTP/1.1 200 OK\r\nNtrip-Version: Ntrip/2.0\r\nContent-Type: gnss/data\r\n"
    let answers: [[UInt8]] = [
      Array("ICY 200 OK\r\n".utf8) + Self.corrections,
      Array("ICY 200 OK\r\n\r\n".utf8) + Self.corrections,
      Array("ICY 200 OK\nServer: one of the old ones\n\n".utf8) + Self.corrections,
      Array("\(http)\r\n".utf8) + Self.corrections,
      Array("\(http)Transfer-Encoding: chunked\r\n\r\n".utf8) + chunked(Self.corrections, by: 7),
    ]
    for answer in answers {
      for size in [1, 2, 3, 16, answer.count] {
        let found = read(stride(from: 0, to: answer.count, by: size).map { answer[$0..<min($0 + size, answer.count)] })
        #expect(found.kind == .corrections && found.error == nil)
        // The additional header lines of old casters are skipped.
        #expect(found.body.suffix(Self.corrections.count).elementsEqual(Self.corrections))
      }
    }
  }

  @Test func `a chunked body ends with the empty chunk, and an invalid chunk size is an error`() {
    let head = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
    #expect(
      read([head + chunked([1, 2, 3], by: 2) + Array("0\r\n\r\n".utf8)])
        == Read(body: [1, 2, 3], kind: .corrections, isOver: true))
    for damage in ["\r\n", "xyz\r\n", "-1\r\n", "fffffffffffffffffff\r\n", ";a=b\r\n"] {
      #expect(read([head + Array(damage.utf8)]).error == .broken, "\(damage)")
    }
    // Only the end of the line may follow a chunk.
    for damage in ["1\r\nab", "1\r\na b\r\n", "1\r\na\r\r\n", "1\r\na\r2\r\n"] {
      #expect(read([head + Array(damage.utf8)]).error == .broken, "\(damage)")
    }
    #expect(read([head + Array("1\na\n2\r\nbc\r\n".utf8)]).body == Array("abc".utf8))
  }

  @Test(arguments: [("0", "1"), ("1;", "x")])
  func `the line with a chunk's size has at most 256 bytes, also before its end has arrived`(
    _ first: String, _ last: String
  ) {
    let head = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
    func line(_ byteCount: Int) -> [UInt8] {
      let filler = first == "0" ? "0" : "x"
      return Array((first + String(repeating: filler, count: byteCount - first.count - 3) + last + "\r\n").utf8)
    }
    #expect(line(256).count == 256)
    #expect(read([head + line(256) + Array("a\r\n".utf8)]) == Read(body: Array("a".utf8), kind: .corrections))
    #expect(read([head + line(257)]).error == .broken)
    let endless = head + line(1000).dropLast(2)
    #expect(read([endless.prefix(head.count + 256)]).error == nil)
    #expect(read([endless.prefix(head.count + 257)]).error == .broken)
  }

  @Test func `a body ends after its stated length, and later bytes do not belong to it`() {
    let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef".utf8)
    let whole = Read(body: Array("abc".utf8), kind: .corrections, isOver: true)
    #expect(read([answer]) == whole)
    #expect(read(answer.map { [$0] }) == whole)
    #expect(!read([answer.dropLast(4)]).isOver)
  }

  @Test(
    arguments: [
      ("HTTP/1.1 401 Unauthorized\r\n\r\n", CasterError.unauthorised),
      ("HTTP/1.1 403 Forbidden\r\n\r\n", .unauthorised),
      ("ERROR - Bad Password\r\n", .unauthorised),
      ("HTTP/1.0 404 Not Found\r\nServer: x\r\n\r\n", .noSuchMountPoint(nearest: [], count: 0)),
      ("ERROR - Mount Point Taken or Invalid\r\n", .noSuchMountPoint(nearest: [], count: 0)),
      ("HTTP/1.1 302 Found\r\nLocation: http://other.example/\r\n\r\n", .moved(to: "http://other.example/")),
      ("HTTP/1.1 503 Service Unavailable\r\n\r\n", .refused("503 Service Unavailable")),
      ("SSH-2.0-OpenSSH_9.2\r\n", .noCaster("SSH-2.0-OpenSSH_9.2")),
      ("HTTP/1.1 what\r\n", .noCaster("HTTP/1.1 what")),
      ("\u{15}\u{3}\u{1}", .usesTLS),
      ("\u{0}\u{1}", .noCaster("")),
      (String(repeating: "a", count: 5000), .noCaster("")),
      ("HTTP/1.1 200 OK\r\n" + String(repeating: "a: b\r\n", count: 5000), .noCaster("")),
    ])
  func `an answer without corrections is reported`(_ answer: String, _ error: CasterError) {
    let bytes = Array(answer.utf8)
    #expect(read([bytes]).error == error)
    #expect(read(bytes.map { [$0] }).error == error)
  }

  @Test(arguments: [
    ("http://other.example/BASE", "set 'ntrip.caster' to ntrip://other.example:80/BASE"),
    ("https://other.example/BASE", "set 'ntrip.caster' to ntrips://other.example:443/BASE"),
    ("HTTP://[::1]:2101/BASE", "set 'ntrip.caster' to ntrip://[::1]:2101/BASE"),
    ("http://other.example/", "to http://other.example/: ask its operator for the new address"),
    ("http://user@other.example/BASE", "to http://user@other.example/BASE: ask its operator for the new address"),
    ("/login", "to /login: ask its operator for the new address"),
    ("", "the caster has moved: ask its operator for the new address"),
  ])
  func `a redirection is reported with an address that a board file can have`(_ place: String, _ words: String) {
    let caster = CasterSettings(host: "caster.example", mountPoint: "BASE")
    let text = CasterError.moved(to: place).text(of: caster)
    #expect(text.contains(words), "\(text)")
  }

  @Test func `a source table gives its mount points, and the nearest one to a missing name`() {
    let text =
      "SOURCETABLE 200 OK\r\nServer: x\r\n\r\nCAS;rtk.example;2101;x\r\nSTR;BERLIN1;Berlin;RTCM 3.2;\r\n"
      + "STR;BERLIN2;Berlin;RTCM 3.2;\r\nSTR;Potsdam;;\r\nNET;x\r\nENDSOURCETABLE\r\nSTR;AFTER;x\r\n"
    for size in [1, 5, 1000] {
      var (answer, table) = (CasterAnswer(), SourceTable())
      let bytes = Array(text.utf8)
      for start in stride(from: 0, to: bytes.count, by: size) {
        #expect(throws: Never.self) {
          try answer.take(bytes[start..<min(start + size, bytes.count)]) { table.take($0) }
        }
      }
      #expect(answer.body == .sourceTable && table.isWhole)
      #expect(table.mountPoints == ["BERLIN1", "BERLIN2", "Potsdam"])
      #expect(table.lack(of: "berlin2") == .noSuchMountPoint(nearest: ["BERLIN2", "BERLIN1"], count: 3))
      #expect(table.lack(of: "TOKYO") == .noSuchMountPoint(nearest: [], count: 3))
    }
  }
}
