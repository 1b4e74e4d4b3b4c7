#!/usr/bin/env bash
# Builds the hub for a board and puts it into service there, over ssh.
#
#   ./deploy.sh user@host [--board FILE]    build, copy, switch to the new release, and check that it works
#     --probe FILE        find the devices of a new board, and write a board file to FILE here; installs nothing
#     --executable FILE   use this executable, built elsewhere for the board's system, instead of building one
#     --install-packages  install the libraries that the board lacks, from its Debian
#     --dry-run           print the steps, and change nothing
#     --follow            show the journal afterwards, until Ctrl-C
#     --rollback          switch back to the previous release
#     --uninstall         remove SensorHub from the board, except its recordings
#     -F FILE             an ssh configuration, as for ssh itself
#
# Set jump hosts, keys and agents in ssh_config. If sudo needs a password, it asks here. If a release does not get ready, or does
# not report what its devices do, the board switches back to the previous one. Devices that do not work are only reported.
# A second run changes nothing.
#
#   Example: ./deploy.sh pi@raspberrypi.local --board boards/raspberry-pi-5.json5
set -euo pipefail

usage() { sed -n '2,19s/^# \{0,1\}//p' "$0"; }
fail() {
  echo "deploy.sh: $1" >&2
  exit "$2"
}

# OPTION [VALUE]: fails if the value is missing, or if another option is in its place.
file_for() { { [ $# -ge 2 ] && [ "${2#-}" = "$2" ]; } || fail "$1 needs a file" 64; }

target='' board='' found='' action=install given='' packages='' dry_run='' follow=''
ssh_options=()
while [ $# -gt 0 ]; do
  case $1 in
    --board) file_for "$@"; board=$(realpath -m "$2"); shift ;;
    --probe) file_for "$@"; action=probe; found=$(realpath -m "$2"); shift ;;
    -F) file_for "$@"; ssh_options+=(-F "$(realpath -m "$2")"); shift ;;
    --executable) file_for "$@"; given=$(realpath -m "$2"); shift ;;
    --build-on-target) fail "boards do not build: most have too little memory for it. Without that option it is built here, for the board; \
where this machine cannot, build on another one with the board's Debian (make release), and give what comes of it with --executable" 64 ;;
    --install-packages) packages=--install-packages ;;
    --dry-run) dry_run=1 ;;
    --follow) follow=1 ;;
    --rollback) action=rollback ;;
    --uninstall) action=uninstall ;;
    -h | --help) usage; exit 0 ;;
    -[iJlop]*) fail "ssh's own options, as $1, belong into ~/.ssh/config, or into a file for -F" 64 ;;
    -*) fail "there is no option $1; ./deploy.sh --help lists them" 64 ;;
    *) [ -z "$target" ] || fail "one board at a time: $target or $1?" 64; target=$1 ;;
  esac
  shift
done
[ -n "$target" ] || { usage >&2; exit 64; }
cd "$(dirname "$0")"
[ -z "$given" ] || [ -f "$given" ] || fail "there is no executable '$given'" 66
[ -z "$board" ] || { [ -f "$board" ] && [ -r "$board" ]; } || fail "there is no board file '$board'; boards/ holds examples" 66

[ -z "$found" ] || [ ! -e "$found" ] || fail "there is a file '$found' already: move it away, or name another one" 73
[ -z "$found" ] || [ -w "$(dirname "$found")" ] || fail "'$found' cannot be written: its folder is missing, or not yours" 73

# All steps share one connection, so you type a password only once, however long the build takes. A dead connection is noticed
# within a minute.
work=$(mktemp -d)
ssh_options+=(-o ControlMaster=auto -o "ControlPath=$work/ssh" -o ControlPersist=4h -o ServerAliveInterval=15)
copied=''
finish() {
  # Removes the temporary files on the board, however this script ends, if the connection still exists.
  [ -z "$copied" ] || ! ssh "${ssh_options[@]}" -O check "$target" 2>/dev/null || remote "rm -rf $copied" 2>/dev/null || true
  ssh "${ssh_options[@]}" -O exit "$target" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
# shellcheck disable=SC2029 # arguments expand here, on purpose
remote() { ssh "${ssh_options[@]}" "$target" "$@"; }

echo "looking at $target"
# shellcheck disable=SC2016 # meant for the other side
facts=$(remote 'id -u; dpkg --print-architecture 2>/dev/null || uname -m; uname -m
  . /etc/os-release; echo "${VERSION_CODENAME:-unknown}"
  [ ! -r /proc/device-tree/model ] || tr -d "\0" </proc/device-tree/model; echo
  awk "\$2 == \"/\" { root = \$3 \" \" \$4 } END { print root }" /proc/mounts
  echo "$(dpkg-query -W -f "\${db:Status-Status} \${Version}" sensorhub 2>/dev/null | sed -n "s/^installed //p")"
  readlink /opt/sensorhub/current 2>/dev/null || true') ||
  fail "cannot reach $target over ssh: is it on, in this network, and ssh enabled there (on it: sudo raspi-config nonint do_ssh 0)?" 69
# Removes control characters, so that the board's texts cannot move the cursor of this terminal.
facts=$(LC_ALL=C tr -cd '\n\040-\176' <<<"$facts")
{ read -r uid; read -r architecture; read -r kernel; read -r release; read -r model; read -r root; read -r package; read -r current; } <<<"$facts"$'

' || true
# Makes a folder on the board from which programs may run, and prints its name: hardened boards mount /tmp with noexec. Fails if
# there is none.
# shellcheck disable=SC2016 # meant for the other side
runnable_folder() {
  remote 'for parent in "${TMPDIR:-/tmp}" /var/tmp "$HOME"; do
      folder=$(mktemp -d "$parent/sensorhub-XXXXXXXX" 2>/dev/null) || continue
      printf "#!/bin/sh\n" >"$folder/try" && chmod 700 "$folder/try"
      # The name is not quoted everywhere, so it must have no blanks.
      case $folder in
        *[!A-Za-z0-9/._-]*) ;;
        *) if "$folder/try" 2>/dev/null; then rm -f "$folder/try"; echo "$folder"; exit 0; fi ;;
      esac
      rm -rf "$folder"
    done
    exit 1'
}
as_root() {
  if [ "$uid" = 0 ]; then
    remote "$1"
  else
    # ERROR hides the message at the end of each terminal, because the shared connection continues.
    ssh -t -o LogLevel=ERROR "${ssh_options[@]}" "$target" "sudo $1"
  fi
}
echo "  Debian $release on $architecture${model:+, $model}${current:+, with ${current##*/} in service}"

# The package and a release have a unit and a command of the same name, which would hide each other. Removing the package keeps
# the board file.
[ -z "$package" ] || [ "$action" = probe ] || { [ "$action" != install ] && [ -n "$current" ]; } ||
  fail "the Debian package sensorhub $package is installed on $target. First: ssh -t $target sudo apt remove sensorhub" 69

case $action in rollback | uninstall) [ -n "$current" ] || fail "SensorHub is not installed on $target" 1 ;; esac
case $action:$root in
  probe:*) ;;
  *:overlay*)
    echo "  warning: the board's file system is an overlay in memory: the next start forgets what is changed now. To keep it, on the board:"
    echo "    sudo raspi-config nonint do_overlayfs 1 && sudo reboot; then this again, and do_overlayfs 0 after that"
    ;;
  *' ro' | *' ro,'*) fail "the board's file system is mounted read-only; on the board: sudo mount -o remount,rw /" 73 ;;
esac

if [ "$action" = rollback ] || [ "$action" = uninstall ]; then
  [ -z "$dry_run" ] || { echo "would $action ${current##*/} on $target"; exit 0; }
  # Runs a copy, because uninstalling removes the script.
  as_root "sh -c 'cp /opt/sensorhub/current/activate /run/sensorhub-activate && sh /run/sensorhub-activate $action; code=\$?; rm -f /run/sensorhub-activate; exit \$code'"
  exit
fi

case $architecture in
  aarch64) architecture=arm64 ;;
  x86_64) architecture=amd64 ;;
  armhf | armel | armv*l | i?86)
    what="$target runs a 32-bit system ($architecture), and SensorHub needs a 64-bit one"
    case $kernel in
      aarch64 | armv[78]l) fail "$what: write 'Raspberry Pi OS (64-bit)' to its card, as the Raspberry Pi Imager offers it for a Raspberry Pi 3, \
4, 5, Zero 2 W and their Compute Modules" 69 ;;
      x86_64) fail "$what: its processor can do that; install Debian for amd64" 69 ;;
      *) fail "$what, which its processor ($kernel) cannot do: take a Raspberry Pi 3, 4, 5 or Zero 2 W" 69 ;;
    esac
    ;;
esac

# Chooses a board file for a new board. A board with a release in service keeps its board file.
if [ "$action" = install ] && [ -z "$board" ] && [ -z "$current" ]; then
  case $model in
    'Raspberry Pi 5'*) board=boards/raspberry-pi-5.json5 ;;
    'Raspberry Pi 4'*) board=boards/raspberry-pi-4.json5 ;;
    'Raspberry Pi 3'*) board=boards/raspberry-pi-3.json5 ;;
    'Raspberry Pi Compute Module '[345]*) board=boards/raspberry-pi-compute-module.json5 ;;
    'Raspberry Pi Zero 2'*) board=boards/raspberry-pi-zero-2-w.json5 ;;
    *) fail "no board file is known for '${model:-this machine}': give one with --board" 64 ;;
  esac
fi

# shellcheck source=/dev/null
here="$(. /etc/os-release && echo "${VERSION_CODENAME:-unknown}") $(dpkg --print-architecture 2>/dev/null || uname -m)"
if [ -n "$given" ]; then
  how="nothing"
elif [ "$here" = "$release $architecture" ]; then
  how="here, natively"
else
  how="here, for Debian $release on $architecture"
  case "$release $architecture" in
    'trixie arm64' | 'trixie amd64' | 'bookworm arm64' | 'bookworm amd64') ;;
    *) fail "this machine cannot build for Debian $release on $architecture: build on one that has that too (make release), and give what \
comes of it with --executable" 69 ;;
  esac
fi
if [ -n "$dry_run" ]; then
  [ -n "$given" ] && what="take $given" || what="build $how"
  [ "$action" = install ] || { echo "would $what, have it look for devices on $target, and bring back $found. Nothing has been changed."; exit 0; }
  echo "would $what, with ${board:-the board file that is there}; copy one folder to /opt/sensorhub/releases, switch to it,"
  echo "restart the service, wake its devices, and switch back if it does not run. Nothing has been changed."
  exit 0
fi

executable=$work/sensorhub
[ -n "$given" ] || echo "building $how"
SENSORHUB_COMMIT=$(git describe --always --dirty --abbrev=12 2>/dev/null || true)
export SENSORHUB_COMMIT
case $how in
  nothing)
    # Checks the processor in the executable's header: for a wrong one the kernel would only report "Exec format error".
    case "$architecture $(od -An -j18 -N2 -tx1 "$given" | tr -d ' ')" in
      'arm64 b700' | 'amd64 3e00') ;;
      *) fail "'$given' is not an executable for $architecture" 65 ;;
    esac
    cp "$given" "$executable"
    ;;
  'here, natively')
    make --no-print-directory release
    # With the toolchain's tool, as in the package, because the tool of binutils loses RELRO.
    "$(dirname "$(realpath "$(command -v swift)")")/llvm-objcopy" --strip-all --remove-section=.swift_modhash \
      .build/release/sensorhub "$executable"
    ;;
  *)
    .ci/build-for "$release" "$architecture"
    cp ".build-$release-$architecture/release/sensorhub" "$executable"
    ;;
esac

if [ "$action" = probe ]; then
  copied=$(runnable_folder) || fail "no program may be run from /tmp, /var/tmp or your home folder on $target: they are mounted noexec, \
or full. On it: sudo mount -o remount,exec /tmp; then this again" 73
  upload=$copied
  mkdir "$work/probe"
  chmod 755 "$executable"
  mv "$executable" "$work/probe/sensorhub"
  cp systemd/activate "$work/probe/"
  # Without times: a board whose clock has not been set yet would name each file that is from its future.
  tar -C "$work/probe" -cz . | remote "tar -C $upload -xzm"
  echo "looking for devices on $target, up to fifteen seconds a port"
  code=0
  # One command for all steps, because sudo asks again at each new terminal. The message of `probe` about the written file is
  # removed, because this script names the file here. A bus that only config.txt enables has no file in /dev until its module is loaded.
  # `set -C` refuses to write through existing files and links, because root writes into a folder of the user.
  as_root "sh -c 'set -C
    sh $upload/activate libraries $packages || exit
    modprobe -q i2c-dev 2>/dev/null
    { $upload/sensorhub probe --write $upload/board.json5; echo \$? >$upload/code; } | sed -u \"/^written to /d\"
    exit \$(cat $upload/code)'" || code=$?
  remote "cat $upload/board.json5" >"$work/board.json5" 2>/dev/null || {
    # The command has already printed the reason.
    [ $code -eq 0 ] || exit $code
    fail "$target has written no board file" 74
  }
  mv "$work/board.json5" "$found"
  echo "brought back: $found; next: ./deploy.sh $target --board $(printf %q "$found")"
  exit $code
fi

folder=$work/release
mkdir "$folder"
chmod 755 "$executable"
mv "$executable" "$folder/sensorhub"
cp systemd/sensorhub{.service,.sysusers,.tmpfiles,-policy.service} systemd/activate udev/60-sensorhub.rules "$folder/"
if [ -n "$board" ]; then
  cp "$board" "$folder/board.json5"
else
  # Uses the board file that was put into service last, so that the same executable gives the same release. After a rollback it is not
  # that of the release in service.
  remote "cat /opt/sensorhub/board.installed 2>/dev/null || cat /opt/sensorhub/current/board.json5" >"$folder/board.json5" 2>/dev/null ||
    rm -f "$folder/board.json5"
fi
# The name of a release is a hash of its contents, so the same release has the same name.
id=$(cd "$folder" && sha256sum -- * | sha256sum | cut -c 1-12)

upload=/opt/sensorhub/releases/$id
if ! remote test -d "$upload"; then
  echo "copying release $id"
  # If no folder allows programs to run, only the service checks the board file.
  copied=$(runnable_folder || remote 'mktemp -d')
  upload=$copied
  # Files that the release in service has too are not copied again: the executable, for example, if only the board file differs.
  present=()
  if [ -n "$current" ]; then
    # shellcheck disable=SC2016 # meant for the other side
    mapfile -t present < <(cd "$folder" && sha256sum -- * | remote "cd /opt/sensorhub/$current && sha256sum --check 2>/dev/null |"'
      sed -n "s/: OK$//p" | while read -r name; do cp -p "$name" '"$upload"'/ && echo "$name"; done')
    [ ${#present[@]} -eq 0 ] || echo "  there already: ${present[*]}"
  fi
  tar -C "$folder" "${present[@]/#/--exclude=./}" -cz . | remote "tar -C $upload -xzm"
fi
echo "switching to release $id"
code=0
as_root "sh $upload/activate install $id $packages" || code=$?
# 255 is ssh's own exit code: the connection was lost, and the board finishes the deployment alone.
[ $code -ne 255 ] || fail "the connection to $target was lost; what had begun there goes on. The same command again says what came of it" 69
[ $code -eq 0 ] || fail "release $id is not in service on $target" $code
echo "done: $target runs release $id; journalctl -u sensorhub on the board shows what it does"
[ -n "$follow" ] || exit 0
# Only root and the members of two groups may read the messages of the service.
journal='journalctl --follow -u sensorhub'
if [ "$uid" = 0 ] || remote 'id -nG | grep -qwE "adm|systemd-journal"'; then remote -t "$journal"; else as_root "$journal"; fi
