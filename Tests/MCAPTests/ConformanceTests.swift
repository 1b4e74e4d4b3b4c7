import Glibc
import TestSupport
import Testing

@testable import MCAP

extension ConformanceVariant {
  /// Expects a file to have the contents of this variant, in every way of reading it.
  func expectRead(_ bytes: [UInt8]) throws {
    let reader = try MCAPReader(MCAPBytes(bytes))
    #expect(reader.damage == nil, "\(name)")
    try reader.check()
    #expect(reader.header == MCAPHeader(), "\(name)")
    #expect(reader.summary.schemas.values.sorted { $0.id < $1.id } == content.schemas, "\(name)")
    #expect(reader.summary.channels.values.sorted { $0.id < $1.id } == content.channels, "\(name)")
    #expect(try messages(of: reader, order: .file) == content.messages, "\(name)")
    let sorted = content.messages.enumerated().sorted {
      ($0.element.logTimeNanoseconds, $0.offset) < ($1.element.logTimeNanoseconds, $1.offset)
    }.map(\.element)
    #expect(try messages(of: reader) == sorted, "\(name)")
    #expect(try reader.summary.attachments.map { try reader.attachment($0) } == content.attachments, "\(name)")
    #expect(try reader.summary.metadata.map { try reader.metadata($0) } == content.metadata, "\(name)")
    if features.contains(.statistics) || !reader.isIndexed {
      #expect(reader.summary.statistics == statistics, "\(name)")
    }
    #expect(try !MCAPRepair(of: MCAPBytes(bytes), isRecycled: false).isNeeded, "\(name)")
  }
}

/// The conformance cases of the format's own libraries.
struct ConformanceTests {
  @Test func `the test builds as many files as the format's own generator`() {
    let counts = Dictionary(grouping: ConformanceVariant.all, by: \.content.name).mapValues(\.count)
    #expect(
      counts == [
        "NoData": 6, "OneAttachment": 14, "OneMessage": 154, "OneMetadata": 14, "OneSchemalessMessage": 74,
        "TenMessages": 154,
      ])
    #expect(Set(ConformanceVariant.all.map(\.name)).count == 416)
  }

  @Test func `every variant is read, whatever it leaves out or adds`() throws {
    for variant in ConformanceVariant.all { try variant.expectRead(variant.bytes()) }
  }

  @Test func `every variant is read when its end is missing`() throws {
    for variant in ConformanceVariant.all {
      let bytes = try variant.bytes()
      // The file is cut before the footer, so the whole data section remains.
      let cut = Array(bytes.dropLast(Layout.prefixByteCount + Layout.footerByteCount + Layout.magic.count))
      let repaired = try MCAPRepair(of: MCAPBytes(cut), isRecycled: false).applied(to: cut)
      try variant.expectRead(repaired)
    }
  }

  /// Variants that this writer can produce match the output of the format's own generator byte for byte.
  @Test(arguments: [
    "NoData-st-sum", "OneMessage-ch-chx-mx-rch-rsh-st-sum", "OneSchemalessMessage-ch-chx-mx-rch-st-sum",
    "TenMessages-ch-chx-mx-rch-rsh-st-sum", "OneAttachment-ax-st-sum", "OneMetadata-mdx-st-sum",
  ])
  func `the writer writes the same bytes`(name: String) throws {
    let variant = try #require(ConformanceVariant.all.first { $0.name == name })
    var writer = try MCAPWriter(MCAPBytes(), header: MCAPHeader())
    for schema in variant.content.schemas {
      _ = try writer.addSchema(name: schema.name, encoding: schema.encoding, data: schema.data)
    }
    for channel in variant.content.channels {
      _ = try writer.addChannel(
        topic: channel.topic, messageEncoding: channel.messageEncoding, schemaID: channel.schemaID,
        metadata: channel.metadata)
    }
    for message in variant.content.messages { try writer.append(message) }
    for attachment in variant.content.attachments { try writer.add(attachment) }
    for metadata in variant.content.metadata { try writer.add(metadata) }
    try writer.finish()
    #expect(try writer.sink.bytes == variant.bytes())
  }
}

/// The MCAP project's own conformance files. `make` runs this suite if SENSORHUB_MCAP_CONFORMANCE names their folder.
struct ConformanceFilesTests {
  /// The folder `tests/conformance/data` in a checkout of foxglove/mcap.
  private static let folder = getenv("SENSORHUB_MCAP_CONFORMANCE").map { String(cString: $0) }

  /// Whether the bytes equal a file. If Git LFS stores the file elsewhere, its checksum is compared.
  private func isSame(_ bytes: [UInt8], _ path: String, in folder: TemporaryFolder) throws -> Bool {
    let theirs = SharedData.read(path)
    let text = String(decoding: theirs, as: UTF8.self)
    guard text.hasPrefix("version https://git-lfs"), let start = text.firstRange(of: "sha256:")?.upperBound else {
      return theirs == bytes
    }
    let sum = Program([try folder.write(bytes, "built.mcap")], path: "/usr/bin/sha256sum")
    #expect(sum.wait() == 0)
    return sum.standardOutput.prefix(64) == text[start...].prefix(64)
  }

  @Test func `the files of the MCAP project equal those that the test builds, and are read as expected`() throws {
    let root = try #require(
      ConformanceFilesTests.folder,
      "SENSORHUB_MCAP_CONFORMANCE must name tests/conformance/data of github.com/foxglove/mcap")
    let folder = TemporaryFolder("mcap")
    for variant in ConformanceVariant.all {
      let path = "\(root)/\(variant.content.name)/\(variant.name)"
      let bytes = try variant.bytes()
      #expect(try isSame(bytes, path + ".mcap", in: folder), "\(variant.name)")
      let expected = try ConformanceExpectation(json: SharedData.read(path + ".json"))
      let reader = try MCAPReader(MCAPBytes(bytes))
      #expect(try ConformanceExpectation(reader, features: variant.features) == expected, "\(variant.name)")
    }
  }
}
