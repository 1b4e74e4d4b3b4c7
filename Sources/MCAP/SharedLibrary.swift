import Glibc

/// A shared library that is loaded on first use. The program is not linked to it, so the program starts without it.
struct SharedLibrary {
  // The library is never unloaded, because its functions may be called for as long as the program runs.
  private let handle: UnsafeMutableRawPointer

  /// - Parameter name: the file name, with the version of the interface
  init?(_ name: String) {
    guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
    self.handle = handle
  }

  /// Returns a function of the library, or `nil` if it has no function of this name.
  ///
  /// - Parameter type: the C function type, which must match the library's header
  func function<Function>(_ name: String, as type: Function.Type) -> Function? {
    // A pointer to C code and a value of a C function type have the same representation.
    dlsym(handle, name).map { unsafeBitCast($0, to: type) }
  }
}
