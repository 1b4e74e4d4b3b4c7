import MonotonicTime

extension Soak {
  /// The result of a soak.
  public struct Report: Sendable {
    /// The result of one phase.
    public struct Row: Sendable {
      public var phase: Phase
      public var events: Int
      /// The CPU seconds per event, in the second tenth and in the last one.
      public var cpuSecondsBefore, cpuSecondsAfter: Double
      /// The CPU seconds per event of the second tenth of a young hub, measured at the time of the last tenth.
      public var cpuSecondsOfYoung: Double
      public var residentBytesBefore, residentBytesAfter: Int
      /// The number of times that the last tenth was repeated with both hubs because it had cost too much.
      public var repetitions: Int
      /// The wall-clock time of the phase's slices in the old hub, without the repetitions.
      public var duration: Duration

      /// The growth over the young hub: a ratio minus one.
      public var cpuGrowth: Double { cpuSecondsAfter / cpuSecondsOfYoung - 1 }
      public var memoryGrowthBytes: Int { residentBytesAfter - residentBytesBefore }
    }

    public var bounds: Bounds
    public var rows: [Row]
    public var resourcesBefore, resourcesAfter: Resources
    public var stacks: [StackUse]
    /// The exit code of the old hub, or of the young one if only that failed. The negative signal number if a signal
    /// ended it.
    public var exitCode: Int32
    /// The time from SIGTERM to the end, of the slower hub.
    public var endDuration: Duration
    /// The output of a sanitizer.
    public var errors: String

    /// The exceeded bounds, one sentence each.
    public var problems: [String] {
      var problems: [String] = []
      for row in rows {
        if row.cpuGrowth > bounds.cpuGrowth {
          problems.append(
            "\(row.phase): an event costs \(Text.fixed(row.cpuGrowth * 100, 1)) % more CPU time than in a young hub")
        }
        if let limit = bounds.memoryBytes, row.memoryGrowthBytes > limit {
          problems.append("\(row.phase): the resident memory has grown by \(row.memoryGrowthBytes / 1024) kB")
        }
      }
      if !resourcesAfter.isWithin(resourcesBefore) { problems.append("\(resourcesBefore) became \(resourcesAfter)") }
      if let share = bounds.stackShare {
        for stack in stacks where Double(stack.usedBytes) > Double(stack.byteCount) * share {
          problems.append(
            "thread '\(stack.thread)' has used \(stack.usedBytes / 1024) of the \(stack.byteCount / 1024) kB of its stack"
          )
        }
      }
      if exitCode != 0 { problems.append("SIGTERM ended it with \(exitCode)") }
      if endDuration > bounds.end { problems.append("it took \(Text.fixed(endDuration.inSeconds, 2)) s to end") }
      if !errors.isEmpty { problems.append(errors) }
      return problems
    }

    /// A table of the results for people.
    public var table: String {
      var lines = [
        line(
          "phase", "events", "CPU us/event", "at the end", "young hub", "growth", "resident kB", "at the end", "growth",
          "repeated", "seconds")
      ]
      for row in rows {
        lines.append(
          line(
            row.phase.rawValue, "\(row.events)", Text.fixed(row.cpuSecondsBefore * 1e6, 2),
            Text.fixed(row.cpuSecondsAfter * 1e6, 2), Text.fixed(row.cpuSecondsOfYoung * 1e6, 2),
            Text.fixed(row.cpuGrowth * 100, 1) + " %", "\(row.residentBytesBefore / 1024)",
            "\(row.residentBytesAfter / 1024)", "\(row.memoryGrowthBytes / 1024)", "\(row.repetitions)",
            Text.fixed(row.duration.inSeconds, 1)))
      }
      lines.append("\(resourcesBefore) before, \(resourcesAfter) after")
      lines.append(
        "most of its stack that a thread has used: "
          + stacks.map { "\($0.thread) \($0.usedBytes / 1024) of \($0.byteCount / 1024) kB" }.joined(separator: ", "))
      lines.append("SIGTERM: ended with \(exitCode) after \(Text.fixed(endDuration.inSeconds, 3)) s")
      return lines.joined(separator: "\n")
    }

    private func line(_ columns: String...) -> String {
      zip(columns, [8, 9, 13, 11, 11, 9, 12, 11, 7, 9, 8]).map { Text.column($0, $1) }.joined(separator: " ")
    }
  }

  /// The resources of a process that it must release.
  public struct Resources: Equatable, Sendable, CustomStringConvertible {
    public var threads: Int
    public var descriptors: Int

    public var description: String { "\(threads) threads and \(descriptors) descriptors" }

    /// Whether neither number has grown. They may have fallen: a short-lived thread of the runtime may have been
    /// counted before.
    func isWithin(_ before: Resources) -> Bool { threads <= before.threads && descriptors <= before.descriptors }
  }
}
