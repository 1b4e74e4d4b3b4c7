import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing

/// Simulated receivers that take commands in sentences.
@Suite(.timeLimit(.minutes(10)))
struct SentenceReceiverTests {
  // MARK: MediaTek

  @Test func `a MediaTek receiver acknowledges with a flag for each outcome`() throws {
    let bench = try ReceiverBench(.mediatek)
    try bench.tell("PMTK220,200")
    #expect(bench.hears("PMTK001,220,3"))
    #expect(bench.receiver.interval == .milliseconds(200))
    try bench.tell("PMTK220,7")
    #expect(bench.hears("PMTK001,220,2"))
    try bench.tell("PMTK220,x")
    #expect(bench.hears("PMTK001,220,0"))
    try bench.tell("PMTK999")
    #expect(bench.hears("PMTK001,999,1"))
    try bench.tell("PMTK605")
    #expect(bench.hears(Array("$PMTK705,MT3333_AXN5".utf8)))
    #expect(bench.receiver.interval == .milliseconds(200))
  }

  @Test func `a MediaTek receiver leaves standby at any byte, and backup only when its supply returns`() throws {
    let bench = try ReceiverBench(.mediatek)
    bench.runUntilFix()
    try bench.tell("PMTK161,0")
    #expect(bench.hears("PMTK001,161,3"))
    #expect(bench.receiver.phase == .standby)
    bench.run(.seconds(60))
    #expect(bench.receiver.phase == .standby)
    try bench.tell([0x0D])
    #expect(bench.receiver.phase == .searching)
    #expect(bench.receiver.starts.last?.kind == .hot)
    bench.runUntilFix()
    try bench.tell("PMTK225,4")
    #expect(bench.hears("PMTK001,225,3"))
    try bench.tell([0x0D])
    bench.run(.seconds(5))
    #expect(bench.receiver.phase == .backup)
    bench.setPower(false)
    bench.setPower(true)
    #expect(bench.receiver.phase == .searching)
    #expect(bench.receiver.starts.last?.kind == .hot)
  }

  @Test(arguments: [("PMTK101", ReceiverStart.hot), ("PMTK102", .warm), ("PMTK103", .cold), ("PMTK104", .cold)])
  func `a MediaTek receiver restarts as commanded`(_ command: String, _ kind: ReceiverStart) throws {
    let bench = try ReceiverBench(.mediatek)
    bench.runUntilFix()
    bench.forget()
    try bench.tell(command)
    #expect(bench.receiver.phase == .booting)
    bench.run(.milliseconds(400))
    #expect(bench.hears("PMTK010,001"))
    #expect(bench.receiver.starts.last?.kind == kind)
  }

  // MARK: Airoha

  @Test func `an Airoha receiver saves a fast rate only with its radio off and its sleep locked`() throws {
    let bench = try ReceiverBench(.airoha)
    try bench.tell("PAIR050,200")
    #expect(bench.hears("PAIR001,050,0"))
    try bench.tell("PAIR513")
    #expect(bench.hears("PAIR001,513,2"))
    for command in ["PAIR382,1", "PAIR003", "PAIR513", "PAIR002"] {
      try bench.tell(command)
      #expect(bench.hears("PAIR001,\(command.dropFirst(4).prefix(3)),0"))
    }
    bench.setPower(false)
    bench.setPower(true)
    #expect(bench.receiver.interval == .milliseconds(200))
  }

  @Test func `an Airoha receiver distinguishes unknown commands from wrong parameters`() throws {
    let bench = try ReceiverBench(.airoha)
    try bench.tell("PAIR999")
    #expect(bench.hears("PAIR001,999,3"))
    try bench.tell("PAIR050,5")
    #expect(bench.hears("PAIR001,050,4"))
    bench.receiver.setFaults { $0.refused = [.text("PAIR062")] }
    try bench.tell("PAIR062,0,0")
    #expect(bench.hears("PAIR001,062,2"))
  }

  @Test func `an Airoha receiver reports jamming if requested`() throws {
    let bench = try ReceiverBench(.airoha)
    bench.receiver.setFaults { $0.jamming = ReceiverFaults.Jamming(state: 2, indicator: 90) }
    try bench.tell("PAIR391,1")
    #expect(bench.hears("PAIR001,391,0"))
    bench.run(.seconds(1))
    #expect(bench.hears("PAIRSPF,2"))
  }

  @Test func `an Airoha receiver sleeps for the time of the command`() throws {
    let bench = try ReceiverBench(.airoha)
    try bench.tell("PAIR650,60")
    #expect(bench.hears("PAIR001,650,0"))
    bench.run(.seconds(59))
    #expect(bench.receiver.phase == .backup)
    bench.run(.seconds(2))
    #expect(bench.receiver.phase == .searching)
  }

  // MARK: Quectel

  @Test func `a Quectel receiver applies its rate when it restarts with saved settings`() throws {
    let bench = try ReceiverBench(.quectel)
    #expect(bench.hears("PQTMVER,1,MODULE,LG290P03AANR02A01S,2025/12/12,11:21:01"))
    try bench.tell("PQTMCFGFIXRATE,W,100")
    #expect(bench.hears("PQTMCFGFIXRATE,OK"))
    #expect(bench.receiver.interval == .seconds(1))
    try bench.tell("PQTMSRR")
    bench.run(.milliseconds(400))
    #expect(bench.receiver.interval == .seconds(1))
    for command in ["PQTMCFGFIXRATE,W,100", "PQTMSAVEPAR", "PQTMSRR"] { try bench.tell(command) }
    bench.run(.milliseconds(400))
    #expect(bench.receiver.interval == .milliseconds(100))
    try bench.tell("PQTMCFGFIXRATE,R")
    #expect(bench.hears("PQTMCFGFIXRATE,OK,100"))
  }

  @Test func `a Quectel receiver distinguishes unknown commands from wrong parameters`() throws {
    let bench = try ReceiverBench(.quectel)
    try bench.tell("PQTMNOTHING")
    #expect(bench.hears("PQTMNOTHING,ERROR,3"))
    try bench.tell("PQTMCFGFIXRATE,W,0")
    #expect(bench.hears("PQTMCFGFIXRATE,ERROR,1"))
    try bench.tell("PQTMCFGMSGRATE,W,PQTMEPE,1")
    #expect(bench.hears("PQTMCFGMSGRATE,ERROR,1"))
    bench.receiver.setFaults { $0.refused = [.text("PQTMSAVEPAR")] }
    try bench.tell("PQTMSAVEPAR")
    #expect(bench.hears("PQTMSAVEPAR,ERROR,2"))
  }

  @Test func `a Quectel receiver states its errors if requested`() throws {
    let bench = try ReceiverBench(.quectel)
    bench.runUntilFix()
    try bench.tell("PQTMCFGMSGRATE,W,PQTMEPE,1,2")
    #expect(bench.hears("PQTMCFGMSGRATE,OK"))
    bench.run(.seconds(1))
    #expect(bench.hears("PQTMEPE,2,0.800,0.800,1.280,1.131,1.708"))
  }

  // MARK: Unicore

  private func tell(_ bench: ReceiverBench, _ command: String) throws { try bench.tell(Array("\(command)\r\n".utf8)) }

  @Test func `a Unicore receiver repeats each command in its answer, and refuses unknown ones`() throws {
    let bench = try ReceiverBench(.unicore)
    bench.run(.seconds(1))
    // The checksums are from published dialogues, and include the dollar sign.
    #expect(bench.hears(Array("$devicename,COM2*64\r\n".utf8)))
    try tell(bench, "unlog")
    #expect(bench.hears(Array("$command,unlog,response: OK*21\r\n".utf8)))
    try tell(bench, "VERSIONA")
    #expect(bench.hears(Array("$command,VERSIONA,response: OK*45\r\n#VERSIONA,79,GPS,FINE,".utf8)))
    try tell(bench, "GPGGA 0.25")
    #expect(bench.hears(Array("$command,GPGGA 0.25,response: PARSING FAILD NO MATCHING FUNC*".utf8)))
    try tell(bench, "GPGGA 0.2")
    #expect(bench.hears(Array("$command,GPGGA 0.2,response: OK*".utf8)))
    #expect(bench.receiver.interval == .milliseconds(200))
    bench.setPower(false)
    bench.setPower(true)
    bench.run(.seconds(1))
    #expect(bench.receiver.interval == .seconds(1))
  }

  @Test func `a Unicore receiver sends the version only to the port that is named`() throws {
    let bench = try ReceiverBench(.unicore)
    bench.run(.seconds(1))
    try tell(bench, "VERSIONA COM1")
    #expect(bench.hears(Array("$command,VERSIONA COM1,response: OK*".utf8)))
    #expect(!bench.heard.contains(Array("#VERSIONA".utf8)))
    try tell(bench, "VERSIONA COM2")
    #expect(bench.hears(Array("#VERSIONA".utf8)))
  }

  @Test(arguments: [("RESET", ReceiverStart.hot), ("RESET EPHEM", .warm), ("RESET ALL", .cold), ("FRESET", .cold)])
  func `a Unicore receiver restarts as commanded`(_ command: String, _ kind: ReceiverStart) throws {
    let bench = try ReceiverBench(.unicore)
    bench.runUntilFix()
    try tell(bench, command)
    #expect(bench.receiver.phase == .booting)
    bench.run(.seconds(2))
    #expect(bench.receiver.starts.last?.kind == kind)
  }

  // MARK: CASIC

  private func casic(_ group: UInt8, _ id: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
    let words = stride(from: 0, to: payload.count, by: 4).map { UInt32(bitPattern: word(payload, $0)) }
    let sum = words.reduce(UInt32(id) << 24 | UInt32(group) << 16 | UInt32(payload.count), &+)
    return [0xBA, 0xCE, UInt8(payload.count), 0, group, id] + payload
      + (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
  }

  @Test func `text and acknowledged messages configure a CASIC receiver`() throws {
    let bench = try ReceiverBench(.casic)
    try bench.tell("PCAS02,500")
    #expect(bench.receiver.interval == .milliseconds(500))
    try bench.tell(casic(6, 4, [200, 0, 0, 0]))
    #expect(bench.hears(casic(5, 1, [6, 4, 0, 0])))
    #expect(bench.receiver.interval == .milliseconds(200))
    try bench.tell(casic(6, 4, [3, 0, 0, 0]))
    #expect(bench.hears(casic(5, 0, [6, 4, 0, 0])))
    try bench.tell(casic(6, 5, [0xFF, 0xFF, 1, 0]))
    #expect(bench.hears(casic(5, 1, [6, 5, 0, 0])))
    bench.setPower(false)
    bench.setPower(true)
    #expect(bench.receiver.interval == .milliseconds(200))
  }

  @Test func `a CASIC receiver stays in standby for the time of the command`() throws {
    let bench = try ReceiverBench(.casic)
    bench.runUntilFix()
    try bench.tell("PCAS12,30")
    #expect(bench.receiver.phase == .standby)
    bench.run(.seconds(29))
    #expect(bench.receiver.phase == .standby)
    bench.run(.seconds(2))
    #expect(bench.receiver.phase == .searching || bench.receiver.phase == .tracking)
    #expect(bench.receiver.starts.last?.kind == .hot)
  }
}
