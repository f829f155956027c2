#!/bin/sh
# The linker of Python packages: Zig's, because it has the symbols of an old glibc. rustc lists the symbols that a module
# exports; of ours Python needs the initialiser alone, and dav1d's might meet those of another library in the process.
for argument; do
  case $argument in -Wl,--version-script=*)
    list=${argument#*=}
    if grep -q PyInit_ "$list"; then echo '{ global: PyInit_*; local: *; };' >"$list"; fi ;;
  esac
done
exec $EDGEZOOM_ZIG cc -target $EDGEZOOM_ZIG_TARGET "$@"
