import NMEA
import TestSupport
import Testing

@testable import Devices

/// The answers of real receivers in the logs of pynmeagps are recognized.
@Suite(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"))
struct CommandLogTests {
  private func sentences(_ log: String) -> [String] {
    let bytes = SharedData.read("\(SharedData.folder ?? "")/ubx/messages/\(log)")
    return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
  }

  /// The result of a request on a log.
  private func answer(to request: SentenceRequest, in log: [String]) -> ReceiverAnswer {
    var framer = ReceiverFramer()
    var request = request
    var answer: ReceiverAnswer?
    for sentence in log {
      Array((sentence + "\r\n").utf8).withUnsafeBufferPointer { bytes in
        framer.push(bytes) { frame in if answer == nil { answer = request.take(frame) } }
      }
    }
    return answer ?? request.answerSoFar
  }

  @Test func `each accepted PAIR command counts as accepted`() {
    let answers = sentences("pygpsdata_quectel_pair_get.log")
    let accepted = Set(
      answers.filter { $0.hasPrefix("$PAIR001,") && $0.contains(",0*") }.map { String($0.dropFirst(9).prefix(3)) })
    #expect(accepted.count > 30)
    for number in accepted {
      #expect(answer(to: AirohaReceiver.command(number), in: answers) == .accepted, "PAIR\(number)")
    }
    #expect(answer(to: AirohaReceiver.command("999"), in: answers).isGood == false)
  }

  @Test func `a command in progress does not count as refused`() {
    let answers = ["$PAIR001,003,1*39", "$PAIR001,003,0*38"]
    #expect(answer(to: AirohaReceiver.command("003"), in: answers) == .accepted)
    #expect(answer(to: AirohaReceiver.command("003"), in: [answers[0]]) == .refused)
  }

  @Test func `all commands to Airoha receivers occur in the log of a real receiver`() {
    let said = Set(sentences("pygpsdata_quectel_pair_set.log"))
    for request in [
      AirohaReceiver.command("002"), .init("PAIR003") { _ in .nothing }, AirohaReceiver.command("050", "1000"),
      AirohaReceiver.command("066", "1,0,1,1,0,0"), AirohaReceiver.command("382", "1"),
      AirohaReceiver.command("410", "1"),
      AirohaReceiver.command("513"), .init("PAIR650,0") { _ in .nothing },
      .init("PAIR864,0,0,115200") { _ in .nothing },
    ] {
      #expect(said.contains(String(decoding: request.bytes.dropLast(2), as: UTF8.self)))
    }
  }

  @Test func `each answer to a PQTM command is recognised`() {
    let answers = sentences("quectel_nmea_response.log").filter { $0.hasPrefix("$PQTM") }
    let bodies = answers.map { String($0.dropFirst().prefix { $0 != "*" }) }
    for (answer, body) in zip(answers, bodies) {
      let fields = body.split(separator: ",", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
      guard fields.count > 1, ["OK", "ERROR"].contains(fields[1]) else { continue }
      let expected: ReceiverAnswer =
        fields[1] == "ERROR" ? .refused : fields.count == 2 ? .accepted : .answered(Array(fields[2].utf8))
      #expect(self.answer(to: QuectelReceiver.request(fields[0]), in: [answer]) == expected, "\(answer)")
      #expect(self.answer(to: QuectelReceiver.request("PQTMOTHER"), in: [answer]) == .unanswered)
    }
    #expect(
      answer(to: QuectelReceiver.request("PQTMVERNO"), in: answers)
        == .answered(Array("LG290P03AANR01A03S,2024/04/30,10:53:07".utf8)))
  }

  @Test(arguments: [
    ("PQTMCFGFIXRATE,W,200", "PQTMCFGFIXRATE,OK,1000"), ("PQTMCFGFIXRATE,W,200", "PQTMCFGFIXRATE,W,200"),
    ("PQTMCFGFIXRATE,R", "PQTMCFGFIXRATE,OK"), ("PQTMCFGFIXRATE,R", "PQTMCFGFIXRATE,R"),
  ])
  func `a PQTM command is not answered by itself, or by an answer of another kind`(_ body: String, _ answer: String) {
    #expect(self.answer(to: QuectelReceiver.request(body), in: ["$\(answer)"]) == .unanswered)
  }

  @Test func `the commands to Quectel's receivers are as in a log`() {
    let said = Set(sentences("quectel_nmea_command.log"))
    for body in [
      "PQTMCFGUART,W,115200", "PQTMCFGMSGRATE,W,GGA,1", "PQTMCFGMSGRATE,W,PQTMEPE,1,2", "PQTMCFGFIXRATE,W,1000",
      "PQTMCFGCNST,W,1,1,1,1,0,0", "PQTMCFGNAVMODE,W,10", "PQTMSAVEPAR", "PQTMSRR", "PQTMHOT", "PQTMWARM", "PQTMCOLD",
    ] {
      let sentence = String(decoding: QuectelReceiver.request(body).bytes.dropLast(2), as: UTF8.self)
      #expect(said.contains(sentence), "\(body)")
    }
  }

  @Test func `the PMTK answers of a Locosys or Quectel are recognised by command and flag`() {
    let answers = ["$PMTK001,353,3,1,1,0,0,0*29", "$PMTK001,314,2*37"]
    #expect(answer(to: MediaTekReceiver.command("353", "1,1,0,0,0"), in: answers).isGood)
    #expect(answer(to: MediaTekReceiver.command("314", "0"), in: answers) == .refused)
    #expect(
      answer(to: MediaTekReceiver.command("220", "200"), in: answers)
        == .otherwise("the result of command 314"))
  }
}
