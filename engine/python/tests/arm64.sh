#!/bin/sh
# Runs the package's tests with the ARM64 wheel: Debian's Python, NumPy and pytest for ARM64 under an emulator of processes.
# Needs root, debootstrap and qemu-aarch64 (qemu-user).
#
#   cargo xtask release wheel --target aarch64-unknown-linux-gnu
#   engine/python/tests/arm64.sh target/release-archives/edgezoom-wheels-*-aarch64/edgezoom-*.whl [folder] [pytest's arguments]
#
# If a folder is given, Debian's packages are kept there for another run. Not run: notebooks, which need other packages,
# comparisons with the tiler, whose sandbox the emulator does not have, and forks beside threads, which end the emulator itself.
set -eu
wheel=$(readlink -f "$1") kept=${2:-}
shift $(($# < 2 ? $# : 2))
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM
root=${kept:-$work}/root

if [ ! -e "$root" ]; then
  debootstrap --download-only --arch=arm64 --variant=minbase --include=python3-numpy,python3-pytest bookworm "$work/packages" \
    http://deb.debian.org/debian
  mkdir -p "$root.part"
  for package in "$work"/packages/var/cache/apt/archives/*.deb; do
    dpkg-deb --extract "$package" "$root.part"
  done
  mv "$root.part" "$root"
fi

# The kernel cannot start ARM64 programs, so the tests' own children start by this script.
python=$work/python libraries=$root/usr/lib/aarch64-linux-gnu
printf '#!/bin/sh\nexec qemu-aarch64 -L %s -E LD_LIBRARY_PATH=%s %s "$@"\n' \
  "$root" "$libraries/blas:$libraries/lapack" "$root/usr/bin/python3" >"$python"
chmod +x "$python"
mkdir "$work/package"
python3 -m zipfile --extract "$wheel" "$work/package"
cd "$here/.."
EDGEZOOM_PDFIUM=$here/../../../target/pdfium-aarch64/libpdfium.so PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$work/package "$python" -P -c "
import sys
sys.executable = '$python'
import pytest
sys.exit(pytest.main(sys.argv[1:]))
" -p no:cacheprovider tests --ignore tests/test_notebook.py \
  --deselect tests/test_ends.py::test_forked_children_save_as_their_parent_does \
  --deselect tests/test_targets.py::test_a_site_is_that_of_the_program \
  --deselect tests/test_targets.py::test_the_command_is_the_program "$@"
