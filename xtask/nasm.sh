#!/bin/sh
# nasm in two steps, for builds that are no releases: `.cargo/config.toml` names it to the build scripts of dav1d and libjpeg, which
# call it with flags, the source, `-o` and the object. nasm 2.16 preprocesses a file anew in each of its passes, which takes dav1d's
# files seconds each. What comes out differs in the padding before aligned labels alone.
set -eu
if [ "${PROFILE:-release}" = release ] || [ $# -lt 3 ]; then exec nasm "$@"; fi

for object; do :; done
once=$object.once.asm
count=$#
number=0
for argument; do # the same arguments with another source, and those with another object
  number=$((number + 1))
  [ $number -ne 1 ] || set --
  [ $number -ne $((count - 2)) ] || source=$argument
  [ $number -ge $((count - 2)) ] || set -- "$@" "$argument"
done
nasm "$@" -E "$source" -o "$once"
nasm "$@" -a "$once" -o "$object"
rm "$once"
