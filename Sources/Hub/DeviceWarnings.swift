/// Warnings for the owner of a device, one per subject. A warning replaces only one on the same subject.
struct DeviceWarnings: Sendable {
  enum Subject: CaseIterable, Sendable {
    /// The device waits for a device of the previous board to stop.
    case predecessor
    /// The receiver repeats one position although the board moves.
    case hangUp
    /// The hub restarted the receiver. The text gives the reason and the kind of restart.
    case restart
    /// The measured supply is low.
    case supply
    /// The reception is disturbed.
    case reception
    /// The device states impossible values.
    case values
    /// The receiver gets no corrections.
    case corrections
    /// A finding about the device itself or its connection.
    case finding
    /// The headings that the receiver states have proved wrong.
    case heading
    /// A client writes to the receiver through the bridge.
    case bridge
    /// A setting or command of the owner failed.
    case configuration
    /// The device cannot wait for motion.
    case motion
    /// The limits that the budget sets.
    case budget
  }

  private var texts: [Subject: String] = [:]

  /// The warning on a subject; `nil` removes it.
  subscript(subject: Subject) -> String? {
    get { texts[subject] }
    set { texts[subject] = newValue }
  }

  /// All warnings in the order of the subjects; `nil` if there is none.
  var text: String? {
    let texts = Subject.allCases.compactMap { self.texts[$0] }
    return texts.isEmpty ? nil : texts.joined(separator: "; ")
  }
}
