import MCAP

/// Records the sentences of a receiver, with one second per chunk.
func record(_ seconds: [[String]], to path: String) throws(MCAPError) {
  var writer = try MCAPWriter(MCAPFileSink(path: path))
  let channel = try writer.addChannel(topic: "/receiver", messageEncoding: "nmea")
  for (second, sentences) in seconds.enumerated() {
    for sentence in sentences {
      try writer.append(
        Array(sentence.utf8), channelID: channel, logTimeNanoseconds: UInt64(second) * 1_000_000_000)
    }
    try writer.flush()
    try writer.sink.synchronize()
  }
  try writer.finish()
}

/// The sentences between two seconds, whether or not the recording was ended.
func sentences(of path: String, in seconds: Range<UInt64>) throws(MCAPError) -> [String] {
  _ = try MCAPRepair.repair(path: path, isRecycled: false)
  let reader = try MCAPReader(path: path)
  let times = seconds.lowerBound * 1_000_000_000..<seconds.upperBound * 1_000_000_000
  var messages = reader.messages(in: times, channelIDs: reader.summary.channelIDs(ofTopics: ["/receiver"]))
  var sentences: [String] = []
  while let message = try messages.next() { sentences.append(String(decoding: message.data, as: UTF8.self)) }
  return sentences
}
