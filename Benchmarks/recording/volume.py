"""A temporary file system on a loop device. Whatever happens, the kernel removes both when the benchmark's mounts end."""

import fcntl, os, subprocess

# FS_IOC_SHUTDOWN, and its flag that suppresses even the journal.
SHUTDOWN = 0x8004587D
WITHOUT_LOG = (2).to_bytes(4, "little")


class Volume:
  def __init__(self, bench, name, megabytes, options="noatime"):
    self.image = bench.path(name + ".img")
    self.path = bench.path(name + ".mount")
    self.options = options
    os.mkdir(self.path)
    with open(self.image, "wb") as image:
      image.truncate(megabytes << 20)
    # The block size is that of real disks. Lazy initialization is switched off, because it would write data later.
    subprocess.run(
      ["mkfs.ext4", "-q", "-b", "4096", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", self.image], check=True)

  def __enter__(self):
    self.mount()
    return self

  def __exit__(self, *_):
    self.thaw()
    subprocess.run(["umount", "--lazy", self.path], capture_output=True)
    os.unlink(self.image)

  def mount(self):
    subprocess.run(["mount", "-o", "loop," + self.options, self.image, self.path], check=True)

  def unmount(self):
    subprocess.run(["umount", self.path], check=True)

  @property
  def device(self):
    number = os.stat(self.path).st_dev
    return f"{os.major(number)}:{os.minor(number)}"

  @property
  def written_bytes(self):
    with open(f"/sys/dev/block/{self.device}/stat") as stat:
      return int(stat.read().split()[6]) * 512

  def stop(self):
    """Simulates a power cut: nothing more reaches the disk."""
    folder = os.open(self.path, os.O_RDONLY)
    try:
      fcntl.ioctl(folder, SHUTDOWN, WITHOUT_LOG)
    finally:
      os.close(folder)

  def fail(self):
    """Simulates an error of the disk. A disk that is mounted with `errors=remount-ro` becomes read-only."""
    name = os.path.basename(os.path.realpath(f"/sys/dev/block/{self.device}"))
    with open(f"/sys/fs/ext4/{name}/trigger_fs_error", "w") as trigger:
      trigger.write("1")

  def freeze(self):
    subprocess.run(["fsfreeze", "--freeze", self.path], check=True)

  def thaw(self):
    subprocess.run(["fsfreeze", "--unfreeze", self.path], capture_output=True)
