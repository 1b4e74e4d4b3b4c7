import Glibc

/// A library of the system's that is looked for when it is first needed, and never linked: without it the program starts all the
/// same.
struct SharedLibrary {
  // A library that was opened stays: its functions may be called as long as the program runs.
  private let handle: UnsafeMutableRawPointer

  /// - Parameter name: as the linker knows it, with the version of its interface
  init?(_ name: String) {
    guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
    self.handle = handle
  }

  /// A function; `nil` if the library has none of this name.
  ///
  /// - Parameter type: a C function's, which has to be the one that the library's header gives it
  func function<Function>(_ name: String, as type: Function.Type) -> Function? {
    // A pointer to C code and a C function's value are the same bytes.
    dlsym(handle, name).map { unsafeBitCast($0, to: type) }
  }
}
