#!/bin/sh
# Verifies that a file is what a vault sealed, without the vault and its software. It needs a POSIX
# shell with the usual utilities, and OpenSSL 3.
#
#   sh verify-original.sh FILE [KEY_FINGERPRINT]
#
# The script lies in the folder that was handed over with the file, beside these files:
#
#   entry.json     what the vault recorded when it sealed the document
#   signature.der  the signature of the vault's HSM over entry.json
#   key.pem        the public key of the HSM
#   opening.txt    the values with which the content commitment in the entry is computed again
#
# FILE is the original. If opening.txt is of chosen segments, FILE has the size of the original, and
# the bytes outside of these segments may be anything. KEY_FINGERPRINT is the SHA-256 of the vault's
# public key, or its first 32 hex digits, from a place that the sender of the folder does not control.
#
# The last lines say what of the file was sealed, and the status is 0; otherwise one line says what is
# wrong, and the status is 1. It is 2 if nothing can be said. Nothing is written to any file.
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

# Prints the members of the entry that matter, once the signature is known to be valid: what is
# signed is JSON in canonical form, on one line and without white space. The path of a member is
# tracked, because texts of a user in the entry may look like other members.
awk_entry='
  { text = text $0 }
  END {
    if (NR != 1) exit 1
    size = length(text)
    for (at = 1; at <= size; at++) {
      sign = substr(text, at, 1)
      if (sign == "{" || sign == "[") name[++depth] = ""
      else if (sign == "}" || sign == "]") depth--
      else if (sign == "\"") {
        start = at + 1
        for (at++; substr(text, at, 1) != "\""; at++) {
          if (at > size) exit 1
          if (substr(text, at, 1) == "\\") at++
        }
        string = substr(text, start, at - start)
        if (substr(text, at + 1, 1) == ":") {
          name[depth] = string
          at++
        } else keep(string)
      } else if (sign != ",") {
        start = at
        while (at < size && substr(text, at + 1, 1) !~ /[],}]/) at++
        keep(substr(text, start, at - start + 1))
      }
    }
    if (value["action"] != "document.sealed" || value["outcome"] != "success") exit 3
    commitment = value["data", "contentCommitment"]
    if (!is_hex(commitment)) exit 4
    print parse_hex(commitment)
    print shown(value["resource", "id"], "^[0-9a-f-]+$")
    print shown(value["data", "version"], "^[0-9]+$")
    print shown(value["sealedAt"], "^[0-9TZ:.-]+$")
    print shown(value["actor", "type"], "^[a-z_]+$")
    print shown(value["actor", "id"], "^[0-9A-Za-z_.:-]+$")
  }
  function keep(text) {
    if (depth == 1) value[name[1]] = text
    if (depth == 2) value[name[1], name[2]] = text
  }
  function shown(text, pattern) {
    return text ~ pattern && length(text) <= 64 ? text : "unknown"
  }
'

# Checks every line of opening.txt. Prints for a full opening its kind, seed, root, sha256 and size;
# for one of segments its kind, root, whole, commitment salt and size. With segments=1 it prints
# a line for each segment in place of that: its index, its salt and its path.
awk_opening='
  function refuse() { is_refused = 1; exit 1 }
  function next_value(expected) {
    if ($1 != expected || NF != 2 || $0 != $1 " " $2) refuse()
    return $2
  }
  function next_hash(expected,    text) {
    text = next_value(expected)
    if (!is_hex(text)) refuse()
    return text
  }
  function next_number(expected,    text) {
    text = next_value(expected)
    if (!is_number(text)) refuse()
    return text
  }
  function path_length(index_, last,    hashes) {
    for (hashes = 0; last > 0; last = int(last / 2)) {
      if (index_ % 2 == 1 || index_ < last) hashes++
      index_ = int(index_ / 2)
    }
    return hashes
  }
  function end_segment() {
    if (awaited != "path" || hashes != path_length(place, count - 1)) refuse()
    if (segments) print line
  }
  NR == 1 { if (next_value("opening") != "1") refuse(); next }
  NR == 2 && $1 == "seed" { kind = "full"; seed = next_hash("seed"); next }
  NR == 2 { kind = "segments"; root = next_hash("root"); next }
  kind == "full" && NR == 3 { root = next_hash("root"); next }
  kind == "full" && NR == 4 { whole = next_hash("sha256"); next }
  kind == "full" && NR == 5 { size = next_number("size"); next }
  kind == "full" { refuse() }
  NR == 3 { whole = next_hash("whole"); next }
  NR == 4 {
    size = next_number("size")
    count = int((size + 1048575) / 1048576)
    if (count == 0) count = 1
    place = -1
    next
  }
  NR == 5 { salt = next_hash("commitment-salt"); next }
  $1 == "segment" {
    if (NR > 6) end_segment()
    found = next_number("segment")
    if (found + 0 <= place || found + 0 >= count) refuse()
    place = found + 0
    line = found
    hashes = 0
    awaited = "salt"
    next
  }
  awaited == "salt" { line = line " " parse_hex(next_hash("salt")); awaited = "path"; next }
  awaited == "path" { line = line " " parse_hex(next_hash("path")); hashes++; next }
  { refuse() }
  END {
    if (is_refused || NR < 5) exit 1
    if (kind == "segments") end_segment()
    if (is_refused) exit 1
    if (segments) exit 0
    print kind
    print (kind == "full" ? seed : parse_hex(salt))
    print parse_hex(root)
    print parse_hex(whole)
    print size
    print bytes_of(size)
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

# Verifies signature.der and prints the fingerprint of the key. The key must be one of P-256, and
# key.pem hold nothing else, so that there is no doubt which key it is.
check_signature() {
  awk '
    NR == 1 { is_pem = $0 == "-----BEGIN PUBLIC KEY-----"; next }
    is_ended || $0 !~ /^[A-Za-z0-9+\/=]+$/ { if ($0 != "-----END PUBLIC KEY-----") is_pem = 0 }
    $0 == "-----END PUBLIC KEY-----" { if (is_ended++) is_pem = 0 }
    END { exit !(is_pem && is_ended) }
  ' "$folder/key.pem" || fail 'key.pem is no public key in PEM'
  key=$(openssl pkey -pubin -in "$folder/key.pem" -outform DER 2> /dev/null | openssl base64 -A)
  case $key in
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE*) ;;
    *) fail 'key.pem is no public key of the kind that vaults have' ;;
  esac
  openssl dgst -sha3-256 -verify "$folder/key.pem" -signature "$folder/signature.der" \
    "$folder/entry.json" > /dev/null 2>&1 ||
    fail 'the signature is not one of entry.json by the key in key.pem'
  digest=$(openssl pkey -pubin -in "$folder/key.pem" -outform DER | openssl dgst -sha256 -r)
  fingerprint=${digest%% *}
  case $fingerprint in
    "${pinned:-$fingerprint}"*) ;;
    *) fail "the key in key.pem is not the one that you named: its fingerprint is $fingerprint" ;;
  esac
}

# Reads the entry, once its signature is known to be valid.
read_entry() {
  entry=$(awk "$awk_bytes$awk_entry" "$folder/entry.json")
  case $? in
    0) ;;
    3) fail 'the signed entry seals no document' ;;
    4) fail 'the signed entry has no content commitment, so it says nothing of the original' ;;
    *) fail 'what is signed is no audit entry' ;;
  esac
  {
    read -r commitment
    read -r document
    read -r version
    read -r sealed_at
    read -r actor_type
    read -r actor
  } << END
$entry
END
}

# Says who sealed the document.
describe_author() {
  printf '%s\n' "actor: $actor_type $actor, by the vault's word"
}

read_opening() {
  opening=$(awk "$awk_bytes$awk_opening" "$folder/opening.txt") ||
    fail 'opening.txt is damaged: it is no opening of a content commitment'
  {
    read -r kind
    read -r secret
    read -r root
    read -r whole
    read -r size
    read -r size_bytes
  } << END
$opening
END
}

# Computes the content commitment again, from the values in opening.txt alone.
check_commitment() {
  commitment_salt=$secret
  if [ "$kind" = full ]; then
    seed=$secret
    sha256=$whole
    commitment_salt=$(hkdf "$seed" Service_Content_Commitment_Salt_v1 | octal)
    whole_salt=$(hkdf "$seed" Service_Content_Whole_Salt_v1 | octal)
    whole=$(printf "Service_Content_Whole_v1\\000$whole_salt$sha256" | sha3_256 | octal)
  fi
  values=$commitment_salt$root$whole$size_bytes
  computed=$(printf "Service_Content_Commitment_v1\\000$values" | sha3_256 | octal)
  [ "$computed" = "$commitment" ] || fail 'opening.txt is not of the content commitment in entry.json'
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
  1 | 2) ;;
  *) give_up 'usage: sh verify-original.sh FILE [KEY_FINGERPRINT]' ;;
esac
case $1 in
  -*) file=./$1 ;;
  *) file=$1 ;;
esac
{ [ -f "$file" ] && [ -r "$file" ]; } || give_up "there is no file $1 that can be read"
pinned=$(printf '%s' "${2-}" | tr -d : | tr A-F a-f)
case ${#pinned}:$pinned in
  *:*[!0-9a-f]*) give_up 'a fingerprint has 32 or 64 hex digits' ;;
  32:* | 64:*) ;;
  *) [ $# -eq 1 ] || give_up 'a fingerprint has 32 or 64 hex digits' ;;
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
for name in entry.json signature.der key.pem opening.txt; do
  { [ -f "$folder/$name" ] && [ -r "$folder/$name" ]; } || fail "the folder of this script has no $name"
done

check_signature
read_entry
read_opening
check_commitment
proven=$(check_file) || fail "$proven"

printf '%s\n' "entry: version $version of document $document was sealed at $sealed_at"
describe_author
if [ $# -eq 2 ]; then
  printf '%s\n' "key: $fingerprint, as you named it"
else
  printf '%s\n' "key: $fingerprint; compare it with the fingerprint that the vault publishes elsewhere"
fi
printf '%s\n' "$proven"
