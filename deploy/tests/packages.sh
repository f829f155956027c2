#!/bin/sh
# Goes each way to install Edgezoom from nothing to a converted picture, in a Debian without anything else: the release
# archive, the Debian package, the tiler's image, the archive and the image for a first look, and the Worker's archive
# (a dry run of its upload). Needs root and Debian's packages debootstrap and podman; no registry, no daemon. Takes
# about five minutes after the builds.
#
#   for part in tiler deb worker local; do cargo xtask release $part; done
#   deploy/tests/packages.sh [archive] [deb] [image] [local] [worker]
#
# FOLDER keeps the base system and the images for another run. IMAGES=source builds the images' programs by the
# Dockerfile, too (an hour). SUITE=trixie takes Debian 13 instead of 12. ARCHIVES names another folder than
# target/release-archives.
set -eu
cd "$(dirname "$(readlink -f "$0")")/../.."
[ $# -gt 0 ] || set -- archive deb image local worker
work=$(mktemp -d)
kept=${FOLDER:-$work}
archives=$(readlink -f "${ARCHIVES:-target/release-archives}")
suite=${SUITE:-bookworm}
base=localhost/debian:$suite-slim
port=18765
sources=

# Some machines have an empty cgroup v2 beside v1, which crun refuses.
podman() {
  unshare --mount sh -c 'umount /sys/fs/cgroup/unified 2>/dev/null; exec podman "$@"' sh --root "$kept/store" --runroot "$kept/run" \
    --storage-driver overlay --runtime crun --cgroup-manager cgroupfs "$@" 2>"$work/podman.log" || { cat "$work/podman.log" >&2; return 1; }
}
limits="--network host --ulimit nofile=10000:10000 --ulimit nproc=9000:9000" # raising them needs a right that some machines deny
inside() { podman run --rm $limits --volume "$work:/work" "$@"; }
# As docs/operations/guide.md runs it; Podman calls systempaths=unconfined unmask=ALL.
confined() {
  inside --read-only --tmpfs /tmp:size=1g,mode=1777 --volume /var/tmp --env EDGEZOOM_TMP=/var/tmp --shm-size 1g --cap-drop ALL --security-opt no-new-privileges \
    --security-opt seccomp=deploy/docker/seccomp.json --security-opt unmask=ALL --env EDGEZOOM_ALLOW_NETWORKS=127.0.0.0/8 "$@"
}
end() {
  [ -z "$sources" ] || kill "$sources" 2>/dev/null || true
  podman stop --all --time 10 >/dev/null 2>&1 || true
  rm -rf --one-file-system "$work"
}
trap end EXIT
trap 'exit 1' INT TERM

# A copy of Debian's slim image: the required packages, without documentation.
if ! podman image exists "$base"; then
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$work/base" http://deb.debian.org/debian >"$work/debootstrap.log"
  printf 'path-exclude=%s\n' '/usr/share/man/*' '/usr/share/locale/*' '/usr/share/info/*' '/usr/share/doc/*' >"$work/base/etc/dpkg/dpkg.cfg.d/slim"
  echo 'path-include=/usr/share/doc/*/copyright' >>"$work/base/etc/dpkg/dpkg.cfg.d/slim"
  find "$work/base/usr/share/doc" -type f ! -name copyright -delete
  rm -rf "$work"/base/usr/share/man/* "$work"/base/usr/share/locale/* "$work"/base/usr/share/info/* \
    "$work"/base/var/cache/apt/archives/*.deb "$work"/base/var/lib/apt/lists/*_*
  cp /etc/ssl/certs/ca-certificates.crt "$work/base/etc/ssl/certs/" # this machine's network may have a certificate of its own
  tar -C "$work/base" -c . | podman import - "$base" >/dev/null
  rm -rf --one-file-system "$work/base"
fi

mkdir "$work/sources" "$work/out"
chmod 755 "$work"
chmod 777 "$work/out"
cp tiler/tests/corpus/baseline.jpg tiler/tests/corpus/page.pdf "$work/sources/"
printf '<!doctype html><title>A page</title><p>Words on a page. 日本語 العربية' >"$work/sources/page.html"
python3 -m http.server --bind 127.0.0.1 --directory "$work/sources" "$port" >/dev/null 2>&1 &
sources=$!

# Unpacks the newest archive of a kind.
unpack() {
  mkdir -p "$work/$1"
  tar -xzf "$(ls -t "$archives/edgezoom-$1"-*.tar.gz | head -1)" -C "$work/$1" --strip-components 1
}
build() { # of a stage of the Dockerfile
  set -- $limits --file deploy/docker/Dockerfile --build-arg BASE="$base" --target "$1" --tag "edgezoom-$1" \
    --build-arg EDGEZOOM_BUILD="$(git log -1 --abbrev=12 --format='%h %cs')"
  if [ "${IMAGES:-}" != source ]; then
    [ -e "$work/tiler" ] || unpack tiler
    set -- "$@" --build-context release="$work/tiler"
    [ ! -e "$work/local" ] || set -- "$@" --build-context service="$work/local"
  fi
  podman build "$@" . >"$work/build.log" || { cat "$work/build.log"; return 1; }
}
# Asks a service for files until they are ready.
serves() { # PORT FILE…
  service=http://127.0.0.1:$1/v1/content/
  shift
  for file; do
    for _ in $(seq 120); do
      answer=$(curl --silent --show-error --location --get "$service" --data-urlencode "url=http://127.0.0.1:$port/$file")
      case $answer in
      *'"ready":true'*) echo "$file is ready" && continue 2 ;;
      *'"failed":true'*) break ;;
      esac
      sleep 1
    done
    echo "$file was not converted: $answer" && exit 1
  done
}
# Starts a container that prints `ready: ` and waits for that.
first_look() { # RUN IMAGE COMMAND…
  run=$1
  shift
  $run --detach --replace --name first-look "$@" >/dev/null
  until podman logs first-look | grep '^ready: '; do
    podman container exists first-look || exit 1
    sleep 1
  done
}
converted() { [ -s "$work/out/$1.dzi" ] && [ -s "$work/out/$1_files/0/0_0.jpg" ] && echo "$1 was converted"; }

for way; do
  rm -rf "$work"/out/*
  case $way in
  archive)
    [ -e "$work/tiler" ] || unpack tiler
    inside "$base" /work/tiler/tiler convert /work/sources/baseline.jpg -o /work/out/archive --viewer
    converted archive
    [ -s "$work/out/index.html" ] && [ -s "$work/out/viewer.js" ]
    ;;
  deb)
    cp "$(ls -t "$archives"/edgezoom-tiler_*_"$(dpkg --print-architecture)".deb | head -1)" "$work/edgezoom-tiler.deb"
    inside "$base" sh -euc '
      apt-get update -qq
      apt-get install --yes --no-install-recommends /work/edgezoom-tiler.deb 2>&1 | tail -25
      test "$(stat --format %a /etc/edgezoom/tiler.env)" = 600 && test -e /usr/lib/systemd/system/edgezoom-tiler.service
      test -e /usr/share/bash-completion/completions/tiler && test -e /opt/edgezoom/man/tiler-convert.1 # slim images leave man pages out
      setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp tiler doctor --require user,pdf
      setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp tiler convert /work/sources/page.pdf -o /work/out/deb
      apt-get purge --yes edgezoom-tiler >/dev/null
      for path in /opt/edgezoom /etc/edgezoom /usr/bin/tiler /usr/lib/systemd/system/edgezoom-tiler.service; do
        test ! -e "$path" || { echo "purge left $path"; exit 1; }
      done'
    converted deb
    ;;
  image)
    build tiler
    confined edgezoom-tiler --version | grep --extended-regexp '\([0-9a-f]{12} [0-9]{4}-[0-9]{2}-[0-9]{2}\)'
    confined edgezoom-tiler doctor --require user,pages,pdf,fonts
    for source in /work/sources/baseline.jpg /work/sources/page.pdf "http://127.0.0.1:$port/page.html"; do
      name=image-$(basename "$source")
      confined edgezoom-tiler convert "$source" -o "/work/out/$name"
      converted "$name"
    done
    podman images --format '{{.Repository}} {{.Size}}' edgezoom-tiler
    ;;
  local)
    unpack local
    first_look "inside --env EDGEZOOM_ALLOW_NETWORKS=127.0.0.0/8" "$base" /work/local/service/edgezoom dev --profile release --port 18787
    serves 18787 baseline.jpg page.pdf # a Debian without anything else has no browser
    podman stop --time 20 first-look >/dev/null
    build local
    first_look "confined --read-only=false" edgezoom-local --port 18787
    serves 18787 baseline.jpg page.pdf page.html
    podman stop --time 20 first-look >/dev/null
    podman images --format '{{.Repository}} {{.Size}}' edgezoom-local
    ;;
  worker)
    unpack worker
    inside --workdir /work/worker "$base" sh -euc '
      apt-get update -qq && apt-get install --yes --no-install-recommends npm >/dev/null 2>&1
      npm ci --no-audit --no-fund --loglevel=error
      npm run --silent deploy -- --help >/dev/null
      npx wrangler deploy --dry-run'
    ;;
  *) echo "unknown: $way" && exit 2 ;;
  esac
  echo "$way: done"
done
