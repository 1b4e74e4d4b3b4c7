/// Remarks for the owner of a device, one on each subject: a remark on another subject does not replace it.
struct DeviceRemarks: Sendable {
  enum Subject: CaseIterable, Sendable {
    /// What it waits for that the board before has left behind.
    case predecessor
    /// That it has hung up.
    case hangUp
    /// The reason for a restart and its kind.
    case restart
    /// That the supply which it measures is low.
    case supply
    /// Who disturbs its reception.
    case reception
    /// Stated values that cannot be true.
    case values
    /// Why it gets no corrections.
    case corrections
    /// Findings about the device itself or its connection.
    case finding
    /// What did not go as its owner has ordered.
    case orders
    /// Why it does not wait for motion.
    case motion
    /// What its budget leaves it.
    case budget
  }

  private var texts: [Subject: String] = [:]

  /// `nil` removes the remark.
  subscript(subject: Subject) -> String? {
    get { texts[subject] }
    set { texts[subject] = newValue }
  }

  /// All of them, in the order of the subjects; `nil` if there is none.
  var text: String? {
    let texts = Subject.allCases.compactMap { self.texts[$0] }
    return texts.isEmpty ? nil : texts.joined(separator: "; ")
  }
}
