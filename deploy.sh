#!/usr/bin/env bash
# Builds the hub here and installs it on a board over ssh: ./deploy.sh user@host [board file]
# Only for a board of this machine's own architecture and Debian release; it refuses any other.
set -euo pipefail
cd "$(dirname "$0")"

[ $# -ge 1 ] || { echo "usage: ./deploy.sh user@host [board file]" >&2; exit 64; }
target=$1
board=${2:-boards/raspberry-pi-5.json5}
[ -r "$board" ] || { echo "deploy.sh: there is no board file '$board'" >&2; exit 66; }

# shellcheck source=/dev/null
here="$(uname -m) $(. /etc/os-release && echo "$VERSION_CODENAME")"
# shellcheck disable=SC2016 # meant for the other side
there=$(ssh "$target" 'echo "$(uname -m) $(. /etc/os-release && echo "$VERSION_CODENAME")"')
[ "$here" = "$there" ] || {
  echo "deploy.sh: this machine is $here, $target is $there: build on the board itself with 'make release'" >&2
  exit 69
}

make release
.build/release/sensorhub check "$board"
folder=$(ssh "$target" mktemp -d)
scp -q .build/release/sensorhub "$board" systemd/sensorhub.service udev/60-sensorhub.rules "$target:$folder/"
ssh -t "$target" "sudo sh -euc '
  install -m 755 $folder/sensorhub /usr/local/bin/sensorhub.new
  mv /usr/local/bin/sensorhub.new /usr/local/bin/sensorhub
  install -D -m 644 $folder/$(basename "$board") /etc/sensorhub/board.json5
  install -m 644 $folder/sensorhub.service /etc/systemd/system/
  install -m 644 $folder/60-sensorhub.rules /etc/udev/rules.d/
  systemctl daemon-reload
  udevadm control --reload
  systemctl enable --quiet sensorhub
  systemctl restart sensorhub
  rm -r $folder'"
ssh "$target" systemctl --no-pager status sensorhub
