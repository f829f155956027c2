#!/bin/sh
# Boots Debian's ARM64 kernel in QEMU and converts pictures, a PDF and a web page there, from nothing but Debian's
# packages and an archive: seccomp, Landlock and the browser's namespaces are the kernel's own, which no emulator of
# single processes has. Each source's tiles must be the bytes that this machine's tiler makes, except the web page's.
# Needs root and debootstrap, cpio and qemu-system-arm; takes four minutes:
#
#   cargo xtask release --target aarch64-unknown-linux-gnu deploy/tests/arm64-machine.sh
#   target/release-archives/edgezoom-tiler-*-aarch64-linux.tar.gz target/release/tiler [folder]
#
# If a folder is given, the packages are kept there for another run.
set -eu
archive=$(readlink -f "$1") tiler=$(readlink -f "$2") kept=${3:-}
here=$(dirname "$(readlink -f "$0")")/../..
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM
packages=${kept:-$work}/packages

if [ ! -e "$packages" ]; then
  rm -rf --one-file-system "$packages.part" # left by an interrupted run
  debootstrap --download-only --arch=arm64 --variant=minbase \
    --include=linux-image-cloud-arm64,ca-certificates,iproute2,chromium-headless-shell,fonts-liberation2,fonts-noto-core bookworm "$packages.part" http://deb.debian.org/debian
  mv "$packages.part" "$packages"
fi
root=$work/root
mkdir -p "$root/opt/edgezoom" "$root/sources" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/mnt"
for package in "$packages"/var/cache/apt/archives/*.deb; do
  dpkg-deb --extract "$package" "$root"
done
cat "$root"/usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
rm -rf "$root"/usr/share/doc "$root"/usr/share/locale "$root"/usr/share/man "$root"/lib/modules
mv "$root"/boot/vmlinuz-* "$work/kernel"
tar --extract --gzip --file "$archive" --directory "$root/opt/edgezoom" --strip-components 1
cp "$here"/tiler/tests/corpus/* "$here/docs/viewer.jpg" "$root/sources/"

# Prints a line for each source: its name, and one digest of all its tiles, or the exit status.
cat >"$root/convert-all" <<'END'
#!/bin/sh
tiler=$1 out=$2
cd "$3"
for name in *; do
  # An emulated processor needs more time than a renderer has by default.
  if "$tiler" convert "$name" -o "$out/$name" --cpu-seconds 600 >"$out/log" 2>&1; then
    echo "digest $name $(cd "$out" && find "$name.dzi" "${name}_files" -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c -64)"
  else
    echo "digest $name exit $? $(tail -n 1 "$out/log")"
  fi
  rm -rf "$out/$name.dzi" "$out/${name}_files"
done
END
cat >"$root/page.pl" <<'END'
# Serves a page to the browser.
use IO::Socket::INET;
my $door = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 8000, Listen => 9, ReuseAddr => 1) or die;
while (my $client = $door->accept) {
  my $line = <$client>;
  while (defined(my $header = <$client>)) { last if $header =~ /^\r?\n$/ }
  my $is_page = $line =~ m{^\w+ / };
  my $body = $is_page ? '<title>A page</title><h1>A page on ARM64</h1><p>Rendered by Chromium.' : '';
  print $client 'HTTP/1.1 ', $is_page ? '200 OK' : '404 Not Found', "\r\nContent-Type: text/html\r\nConnection: close\r\n",
    'Content-Length: ', length $body, "\r\n\r\n$body";
  close $client;
}
END
cat >"$root/init" <<'END'
#!/bin/sh
# The first files are no file system that can be left, as sandboxes do; a mount of them is.
if [ -z "${MOVED:-}" ]; then
  mount --bind / /mnt && cd /mnt && mount --move . / && exec chroot . env MOVED=1 /init
fi
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devices /dev
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
chmod 1777 /tmp /dev/shm
ip link set lo up
uname --kernel-release --machine
as_user() { setpriv --reuid=10001 --regid=10001 --clear-groups env HOME=/tmp PATH="$PATH" "$@"; }
perl /page.pl &
if as_user /opt/edgezoom/tiler doctor --require user,landlock,pages,pdf,fonts; then echo 'doctor passed'; else echo 'doctor failed'; fi
mkdir -m 777 /tmp/out
as_user sh /convert-all /opt/edgezoom/tiler /tmp/out /sources
if as_user /opt/edgezoom/tiler convert http://127.0.0.1:8000/ --cpu-seconds 600 --allow-networks 127.0.0.0/8 -o /tmp/out/page 2>/tmp/out/log; then
  echo 'page converted'
else
  tail -n 1 /tmp/out/log
fi
cat /tmp/out/page.dzi
echo o >/proc/sysrq-trigger
sleep 60
END
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet --create --format=newc) >"$work/files"
rm -rf --one-file-system "$root/usr" "$root/lib"

# Ampere's and Amazon's processors.
timeout 1800 qemu-system-aarch64 -machine virt -cpu neoverse-n1 -smp 2 -m 4096 -kernel "$work/kernel" -initrd "$work/files" \
  -append 'console=ttyAMA0 quiet panic=-1' -nographic -no-reboot -nic none </dev/null | tr -d '\r' | tee "$work/log"

mkdir "$work/out"
sh "$root/convert-all" "$tiler" "$work/out" "$root/sources" >"$work/here"
grep '^digest ' "$work/log" >"$work/there"
diff "$work/here" "$work/there"
grep --quiet '^doctor passed$' "$work/log"
grep --quiet '^page converted$' "$work/log"
echo "$(wc -l <"$work/here") sources have the same tiles on ARM64 as on $(uname -m)"
