#!/bin/sh
# Verifies that a file is what a vault sealed, without the vault and its software. It needs a POSIX
# shell with the usual utilities, and OpenSSL 3.
#
#   sh verify-original.sh FILE [KEY_FINGERPRINT [AUTHOR_FINGERPRINT]]
#
# The script lies in the folder that was handed over with the file, beside these files:
#
#   entry.json     what the vault recorded when it sealed the document
#   signature.der  the signature of the vault's HSM over entry.json
#   key.pem        the public key of the HSM
#   opening.txt    the values with which the content commitment in the entry is computed again
#   verify-entry.sh, verify-opening.sh  the parts of this script that read them
#
# FILE is the original. If opening.txt is of chosen segments, FILE has the size of the original, and
# the bytes outside of these segments may be anything. KEY_FINGERPRINT is the SHA-256 of the vault's
# public key, or its first 32 hex digits, from a place that the sender of the folder does not control.
# AUTHOR_FINGERPRINT is that of the user who is said to have sealed the document, 32 hex digits, as the
# user or a recipient of the user's shares knows it; - in place of KEY_FINGERPRINT names no key.
#
# The last lines say what of the file was sealed, and the status is 0; otherwise one line says what is
# wrong, and the status is 1. It is 2 if nothing can be said. A scratch folder is made and removed again.
set -uf
LC_ALL=C
export LC_ALL
unset IFS

fail() {
  printf '%s\n' "$1"
  exit 1
}

give_up() {
  printf '%s\n' "$1" >&2
  exit 2
}

# Hashes and salts are kept as octal escapes, such as \001\377, with which printf writes bytes.

octal() {
  printf '\\%s' $(od -A n -v -t o1)
}

sha256() {
  openssl dgst -sha256 -binary
}

sha3_256() {
  openssl dgst -sha3-256 -binary
}

# HKDF-SHA-256 of the seed in hex with a label and no salt.
hkdf() {
  openssl kdf -keylen 32 -binary -kdfopt digest:SHA256 -kdfopt "hexkey:$1" -kdfopt "info:$2" HKDF
}

# Functions of awk: parse_hex returns the octal escapes of 64 hex digits, and bytes_of those of the 8
# bytes of a whole number.
awk_bytes='
  function is_hex(text) {
    return length(text) == 64 && text ~ /^[0-9a-f]+$/
  }
  function is_number(text) {
    return text ~ /^(0|[1-9][0-9]*)$/ && length(text) <= 16 && text + 0 <= 9007199254740991
  }
  function parse_hex(text,    at, octal) {
    for (at = 1; at < 64; at += 2) {
      octal = octal sprintf("\\%03o", 16 * digit(text, at) + digit(text, at + 1))
    }
    return octal
  }
  function digit(text, at) {
    return index("0123456789abcdef", substr(text, at, 1)) - 1
  }
  function bytes_of(number,    octal, place) {
    for (place = 0; place < 8; place++) {
      octal = sprintf("\\%03o", number % 256) octal
      number = int(number / 256)
    }
    return octal
  }
'

# The hash of a segment of FILE as a leaf: $1 is its index, $2 its salt.
hash_segment() {
  { printf '\000'; printf "$2"; dd if="$file" bs=1048576 skip="$1" count=1 2> /dev/null; } |
    sha256 | octal
}

hash_node() {
  printf "\\001$1$2" | sha256 | octal
}

# The head of the tree over all segments of FILE, with the salts that are derived from the seed.
hash_tree() {
  heads=
  index=0
  while [ "$index" -lt "$1" ]; do
    salt=$(hkdf "$seed" "Service_Content_Segment_Salt_v1:$index" | octal)
    head=$(hash_segment "$index" "$salt")
    rest=$index
    while [ $((rest % 2)) -eq 1 ]; do
      head=$(hash_node "${heads%% *}" "$head")
      heads=${heads#* }
      rest=$((rest / 2))
    done
    heads="$head $heads"
    index=$((index + 1))
  done
  set -- $heads
  head=$1
  shift
  for left; do head=$(hash_node "$left" "$head"); done
  printf '%s' "$head"
}

# Whether a segment of FILE and its path lead to the root: $1 is its index, $2 its salt, and its path
# follows. From the place where the way meets that of the segment before, it was computed already.
check_path() {
  head=$(hash_segment "$1" "$2")
  index=$1
  place=$1
  last=$((count - 1))
  shift 2
  path=$*
  other_place=$proven_index
  other_heads=$proven_heads
  heads=
  while [ "$last" -gt 0 ]; do
    if [ -n "$other_heads" ] && [ "$place" -eq "$other_place" ]; then
      [ "$head" = "${other_heads%% *}" ] || return 1
      case $proven_path in
        *"$*") ;;
        *) return 1 ;;
      esac
      heads=$heads$other_heads
      head=$root
      break
    fi
    heads="$heads$head "
    if [ $((place % 2)) -eq 1 ]; then
      head=$(hash_node "$1" "$head")
      shift
    elif [ "$place" -lt "$last" ]; then
      head=$(hash_node "$head" "$1")
      shift
    fi
    place=$((place / 2))
    last=$((last / 2))
    other_place=$((other_place / 2))
    other_heads=${other_heads#* }
  done
  [ "$head" = "$root" ] || return 1
  proven_index=$index
  proven_heads=$heads
  proven_path=$path
}

# Reads segments line by line. Prints what is proven of FILE, or what is wrong with the first segment
# that is another one.
check_segments() {
  proven=
  proven_index=0
  proven_heads=
  proven_path=
  while read -r index salt path; do
    check_path "$index" "$salt" $path || fail "segment $index of this file is not what was sealed"
    first=$((index * 1048576))
    end=$((first + 1048576))
    [ "$end" -le "$size" ] || end=$size
    proven="${proven}bytes $first to $((end - 1)) of this file are what was sealed
"
  done
  [ -n "$proven" ] || fail 'opening.txt is damaged: it is no opening of a content commitment'
  if [ "$size" -eq 0 ]; then echo 'this file is what was sealed'; else printf '%s' "$proven"; fi
}

# Compares FILE with what the opening says of it. Prints what is proven, or what is wrong.
check_file() {
  found=$(($(wc -c < "$file")))
  [ "$found" -eq "$size" ] || fail "this file has $found bytes, but what was sealed had $size"
  count=$(((size + 1048575) / 1048576))
  [ "$count" -gt 0 ] || count=1
  if [ "$kind" = segments ]; then
    awk -v segments=1 "$awk_bytes$awk_opening" "$folder/opening.txt" | check_segments
    return
  fi
  [ "$(sha256 < "$file" | octal)" = "$sha256" ] || fail 'this file is not what was sealed'
  [ "$(hash_tree "$count")" = "$root" ] || fail 'this file is not what was sealed'
  echo 'this file is what was sealed'
}

case $# in
  1 | 2 | 3) ;;
  *) give_up 'usage: sh verify-original.sh FILE [KEY_FINGERPRINT [AUTHOR_FINGERPRINT]]' ;;
esac
case $1 in
  -*) file=./$1 ;;
  *) file=$1 ;;
esac
{ [ -f "$file" ] && [ -r "$file" ]; } || give_up "there is no file $1 that can be read"
plain_digits() {
  printf '%s' "$1" | tr -d : | tr A-F a-f
}
pinned=$(plain_digits "${2-}")
[ $# -ne 3 ] || [ "$2" != - ] || pinned=
case ${#pinned}:$pinned in
  *:*[!0-9a-f]*) give_up 'a fingerprint of a key has 32 or 64 hex digits' ;;
  32:* | 64:*) ;;
  *) [ $# -eq 1 ] || [ "$2" = - ] || give_up 'a fingerprint of a key has 32 or 64 hex digits' ;;
esac
author_pinned=$(plain_digits "${3-}")
case ${#author_pinned}:$author_pinned in
  *:*[!0-9a-f]*) give_up 'a fingerprint of an author has 32 hex digits' ;;
  32:*) ;;
  *) [ $# -lt 3 ] || give_up 'a fingerprint of an author has 32 hex digits' ;;
esac
case $(openssl version 2> /dev/null) in
  'OpenSSL '[3-9].* | 'OpenSSL '[1-9][0-9].*) ;;
  *) give_up 'this needs OpenSSL 3 or newer as openssl' ;;
esac
case $0 in
  */*) folder=${0%/*} ;;
  *) folder=. ;;
esac
case $folder in
  -*) folder=./$folder ;;
esac
for name in entry.json signature.der key.pem opening.txt \
  verify-entry.sh verify-opening.sh; do
  { [ -f "$folder/$name" ] && [ -r "$folder/$name" ]; } || fail "the folder of this script has no $name"
done

. "$folder/verify-entry.sh"
. "$folder/verify-opening.sh"
check_signature
read_entry
check_author
read_opening
check_commitment
proven=$(check_file) || fail "$proven"

printf '%s\n' "entry: version $version of document $document was sealed at $sealed_at"
printf '%s\n' "$author"
if [ -n "$pinned" ]; then
  printf '%s\n' "key: $fingerprint, as you named it"
else
  printf '%s\n' "key: $fingerprint; compare it with the fingerprint that the vault publishes elsewhere"
fi
printf '%s\n' "$proven"
