import CLinux
import Glibc

/// The files that a command reads. Its output must not replace them.
enum InputFiles {
  /// Throws if the output path leads to one of the input files, under any name.
  static func protect(_ paths: [String], from output: String) throws(CommandError) {
    var target = stat()
    guard stat(output, &target) == 0, target.st_mode & S_IFMT == S_IFREG else { return }
    for path in paths {
      var status = stat()
      guard stat(path, &status) == 0, status.st_dev == target.st_dev, status.st_ino == target.st_ino else { continue }
      throw CommandError(.noInput, "'\(output)' is the file that is being read", nextStep: "name another file")
    }
  }
}
