#!/bin/sh
# Tests docs/operations/guide.md literally: creates a minimal Debian, boots it, and runs the guide's commands that set
# up a tiler in it. Needs root, debootstrap and systemd-nspawn, so it is run by hand:
#
#   deploy/tests/clean-debian.sh target/release-archives/edgezoom-tiler-*.tar.gz .edgezoom/production.env [folder]
#
# The container shares the host's network, so `cargo xtask dev --tilers 0` can be the edge. new-operator.sh sets up
# both. If a folder is given, the Debian is kept there for another run. CHECK names a script to run at the end, while
# the tiler is running.
set -eu
archive=$1 variables=$2 kept=${3:-}
here=$(dirname "$(readlink -f "$0")")/../..
root=${kept:-$(mktemp -d)}/debian
boot=

end() {
  [ -z "$boot" ] || { kill -TERM "$boot" 2>/dev/null && wait "$boot" || true; } # shuts the container down
  [ -n "$kept" ] || rm -rf --one-file-system "$(dirname "$root")"
}
trap end EXIT
trap 'exit 1' INT TERM

if [ ! -e "$root" ]; then
  rm -rf --one-file-system "$root.part" # left by an interrupted run
  debootstrap bookworm "$root.part" http://deb.debian.org/debian
  mv "$root.part" "$root"
fi
# Remove what an earlier run set up, except Debian's packages.
rm -rf "$root"/root/*.tar.gz "$root/opt/edgezoom" "$root/etc/edgezoom" "$root"/var/log/journal/*
find "$root/etc/systemd/system" -name edgezoom-tiler.service -delete
cp "$archive" "$root/root/"
cp "$variables" "$root/root/production.env"
# Containers have no Landlock by default.
systemd-nspawn --quiet --register=no --keep-unit --boot --resolv-conf=copy-host --console=passive --directory="$root" \
  --system-call-filter="landlock_add_rule landlock_create_ruleset landlock_restrict_self" >"$root.log" 2>&1 &
boot=$!
inside() { # the container's first process is nspawn's only child
  nsenter --target "$(pgrep --parent "$boot")" --all env --ignore-environment HOME=/root \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}
until inside systemctl is-system-running 2>/dev/null | grep -Eq 'running|degraded'; do sleep 1; done

# Runs the command block after a heading of the guide, adapted for unattended use.
documented() {
  commands=$(sed -n "/^$1/,/^\`\`\`\$/p" "$here/docs/operations/guide.md" | sed -e '1,/^```sh$/d' -e '/^```$/d')
  [ -n "$commands" ]
  printf 'cd /root\n%s\n' "$commands" | sed 's/^sudo //; s/^apt-get install /&--yes /' >"$root/root/commands.sh"
  inside sh -eux /root/commands.sh
}
documented '## 2. Start the tilers$'

inside setpriv --reuid=12345 --regid=12345 --clear-groups /opt/edgezoom/tiler doctor --require user,pages,pdf,fonts
inside systemctl is-active edgezoom-tiler
documented '### Update a tiler$'
for _ in $(seq 60); do
  inside curl --silent --fail http://127.0.0.1:9600/ready && break
  sleep 1
done
inside curl --silent --show-error --fail http://127.0.0.1:9600/ready
[ -z "${CHECK:-}" ] || sh -eu "$CHECK"
inside journalctl --no-pager --output=cat --unit=edgezoom-tiler
inside systemd-analyze --no-pager security edgezoom-tiler | tail -1
