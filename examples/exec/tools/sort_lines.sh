#!/bin/sh
# Writes the lines of one file, sorted and each once, to another. Descriptors of
# what is written come first: 3 is the new file, 4 the one to read. RunLens puts the
# new file in place once this has ended well and has answered.
set -eu

sort -u <&4 >&3
lines=$(wc -l </dev/fd/3)

printf '{"lines":%d}\n' "$lines"
