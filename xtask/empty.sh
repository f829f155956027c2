#!/bin/sh
# Stands in for the C compiler and the archiver of a system for which code is only checked: makes empty files.
out=
while [ $# -gt 0 ]; do
  case $1 in
    -o) shift; out=$1 ;;
    -o*) out=${1#-o} ;;
    *.a | *.lib) out=$1 ;;
    -E | --version) exit 0 ;;
  esac
  shift
done
[ -z "$out" ] || : >"$out"
