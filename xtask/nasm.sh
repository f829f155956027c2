#!/bin/sh
# Runs nasm in two steps in debug builds, because nasm 2.16 preprocesses a file in each of its passes, which takes
# seconds for each file of dav1d. `.cargo/config.toml` passes this script to the build scripts of dav1d and libjpeg,
# which call it with flags, the source, `-o` and the object file. The result differs only in the padding before aligned
# labels.
set -eu
if [ "${PROFILE:-release}" = release ] || [ $# -lt 3 ]; then exec nasm "$@"; fi

for object; do :; done
once=$object.once.asm
count=$#
number=0
for argument; do # replaces the source and keeps the other arguments
  number=$((number + 1))
  [ $number -ne 1 ] || set --
  [ $number -ne $((count - 2)) ] || source=$argument
  [ $number -ge $((count - 2)) ] || set -- "$@" "$argument"
done
nasm "$@" -E "$source" -o "$once"
nasm "$@" -a "$once" -o "$object"
rm "$once"
