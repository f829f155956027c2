#!/bin/sh
# Runs the whole docs/operations/guide.md without Cloudflare: builds the release archive, runs the local service without
# tilers in place of the deployed Worker, sets up a tiler in a clean Debian (clean-debian.sh), and converts a picture, a
# document, a drawing and a web page. Needs root, debootstrap and systemd-nspawn. Takes about 15 minutes without an
# earlier build. If a folder is given, the Debian is kept there for another run.
#
#   deploy/tests/new-operator.sh [folder]
#
# PROFILE=dev builds the tiler with the dev profile, which is faster. BUILT=1 uses an earlier build.
set -eu
kept=${1:+$(readlink -m "$1")}
profile=${PROFILE:-release}
cd "$(dirname "$(readlink -f "$0")")/../.."
work=$(mktemp -d)
edge=
sources=

end() {
  for process in $edge $sources; do kill -TERM "$process" 2>/dev/null || true; done
  wait
  rm -rf --one-file-system "$work"
}
trap end EXIT
trap 'exit 1' INT TERM

if [ -z "${BUILT:-}" ]; then
  cargo xtask release --profile "$profile"
  cargo xtask build-edge
fi
archive=$(ls -t target/release-archives/edgezoom-tiler-*.tar.gz | head -1)

EDGEZOOM_ALLOW_NETWORKS=127.0.0.0/8 cargo xtask dev --built --tilers 0 --port 0 --state "$work/state" >"$work/edge.log" 2>&1 &
edge=$!
until grep -q '^ready: ' "$work/edge.log"; do
  kill -0 "$edge" || { cat "$work/edge.log"; exit 1; }
  sleep 1
done
url=$(sed -n 's/^ready: //p' "$work/edge.log")

mkdir "$work/sources"
cp tiler/tests/corpus/baseline.jpg tiler/tests/corpus/page.pdf tiler/tests/corpus/text.svg "$work/sources/"
printf '<!doctype html><title>A page</title><p>Words on a page.' >"$work/sources/page.html"
python3 -u -m http.server --bind 127.0.0.1 --directory "$work/sources" 0 >"$work/sources.log" 2>&1 &
sources=$!
until port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$work/sources.log") && [ -n "$port" ]; do sleep 1; done

token=$(cat "$work/state/token")
cat >"$work/production.env" <<END
EDGEZOOM_EDGE_URL=$url
EDGEZOOM_TILER_TOKEN=$token
EDGEZOOM_QUEUE_URL=$url/accounts/local/queues/edgezoom-jobs
EDGEZOOM_QUEUE_TOKEN=$token
EDGEZOOM_S3_ENDPOINT=$url/cdn-cgi/local/r2/s3
EDGEZOOM_S3_BUCKET=edgezoom-pyramids
EDGEZOOM_S3_ACCESS_KEY_ID=local
EDGEZOOM_S3_SECRET_ACCESS_KEY=local-secret-for-development
EDGEZOOM_ALLOW_NETWORKS=127.0.0.0/8
END

# clean-debian.sh runs this while the tiler is running.
cat >"$work/check.sh" <<END
for file in baseline.jpg page.pdf text.svg page.html; do
  for _ in \$(seq 120); do
    answer=\$(curl --silent --show-error --location --get "$url/v1/content/" --data-urlencode "url=http://127.0.0.1:$port/\$file")
    case \$answer in
    *'"ready":true'*) echo "\$file is ready" && continue 2 ;;
    *'"failed":true'*) break ;;
    esac
    sleep 1
  done
  echo "\$file was not converted: \$answer" && exit 1
done
END
CHECK="$work/check.sh" deploy/tests/clean-debian.sh "$archive" "$work/production.env" "$kept"
