#!/bin/sh
# Verifies the evidence of a document that a vault has exported, without the vault and its software. It
# needs a POSIX shell with the usual utilities, and OpenSSL 3.
#
#   sh verify.sh FINGERPRINT...
#
# The script lies in the folder that the export unpacked to, beside verify-entries.sh, a part of it;
# README.txt says what else does. Each FINGERPRINT is the SHA-256 of a public key of the vault, or its
# first 32 hex digits, from a place that the sender of the folder does not control.
#
# Prints what was checked and what cannot be known, with the status 0; otherwise one line says what is
# wrong, with the status 1. The status is 2 if nothing can be said. A scratch folder is made and removed
# again.
set -uf
LC_ALL=C
export LC_ALL
unset IFS

fail() {
  printf 'INVALID: %s\n' "$1"
  exit 1
}

give_up() {
  printf '%s\n' "$1" >&2
  exit 2
}

sha3_256() {
  openssl dgst -sha3-256 -r "$1" 2> /dev/null | cut -d ' ' -f 1
}

# Checks that the folder has the files of the manifest, as they were exported, and no others.
check_manifest() {
  [ "$(sha3_256 manifest.txt)" = "$manifest_hash" ] ||
    fail 'manifest.txt is not the manifest of which the entry in exported/ has the hash'
  sed 's/^[0-9a-f]* \*//' manifest.txt > "$scratch/listed"
  while read -r file; do
    [ -f "$file" ] || fail "$file is missing"
  done < "$scratch/listed"
  xargs openssl dgst -sha3-256 -r < "$scratch/listed" > "$scratch/hashes" 2> /dev/null
  changed=$(awk 'NR == FNR { hash[$2] = $1; next } hash[$2] != $1 { print substr($2, 2); exit }' \
    "$scratch/hashes" manifest.txt)
  [ -z "$changed" ] || fail "$changed is not the file that was exported"
  {
    cat "$scratch/listed"
    printf '%s\n' manifest.txt exported/entry.json exported/key.pem exported/proof.json \
      exported/signature.der
  } | sort > "$scratch/expected"
  find . ! -type d | sed 's/^\.\///' | sort > "$scratch/found"
  extra=$(comm -13 "$scratch/expected" "$scratch/found" | head -n 1)
  [ -z "$extra" ] || fail "$extra is no part of this export"
  [ -z "$(find . ! -type d ! -type f)" ] || fail 'the folder has files that are no ordinary ones'
}

[ $# -ge 1 ] || give_up 'usage: sh verify.sh FINGERPRINT...'
named=
for argument; do
  pinned=$(printf '%s' "$argument" | tr -d : | tr A-F a-f)
  case ${#pinned}:$pinned in
    *:*[!0-9a-f]*) give_up 'a fingerprint of a key has 32 or 64 hex digits' ;;
    32:* | 64:*) named="$named $pinned" ;;
    *) give_up 'a fingerprint of a key has 32 or 64 hex digits' ;;
  esac
done
case $(openssl version 2> /dev/null) in
  'OpenSSL '[3-9].* | 'OpenSSL '[1-9][0-9].*) ;;
  *) give_up 'this needs OpenSSL 3 or newer as openssl' ;;
esac
case $0 in
  */*) cd -- "${0%/*}" || give_up 'the folder of this script cannot be entered' ;;
esac
[ -f ./verify-entries.sh ] || give_up 'verify-entries.sh is missing'
. ./verify-entries.sh
scratch=${TMPDIR:-/tmp}/verify-export.$$
(umask 077 && mkdir "$scratch") || give_up "no folder can be made in ${TMPDIR:-/tmp}"
trap 'rm -rf "$scratch"' EXIT

for name in manifest.txt exported/entry.json exported/key.pem exported/proof.json exported/signature.der; do
  [ -f "$name" ] || fail "$name is missing"
done
fingerprint_of exported/key.pem
is_named "$fingerprint" || fail "the export is signed by a key that you did not name: its fingerprint is $fingerprint"
has_signature exported exported/key.pem ||
  fail 'exported/signature.der is not a signature of entry.json by the key in key.pem'
read_members exported/entry.json \
  'id action resource.type resource.id seq sealedAt data.manifestHash data.through'
{
  read -r id
  read -r action
  read -r type
  read -r document
  read -r exported_seq
  read -r exported_at
  read -r manifest_hash
  read -r through
} < "$scratch/members"
[ "$action" = document.exported ] && [ "$type" = document ] ||
  fail 'the entry in exported/ records no export of a document'
case $exported_seq$through in
  *[!0-9]*) fail 'the entry in exported/ has no numbers' ;;
esac
check_proof_file exported "$id"
check_manifest

keys=$(find keys -name '*.pem' | sed 's/^keys\///; s/\.pem$//' | sort)
for id in $keys; do
  fingerprint_of "keys/$id.pem"
  [ "$id" = "$(printf '%.32s' "$fingerprint")" ] || fail "keys/$id.pem is another key"
done
last_key=
read_key=
imported_keys=
abandoned=
files=
versions=0
number=0
while [ "$number" -lt "$through" ]; do
  number=$((number + 1))
  check_entry "$number"
done
[ "$(($(find entries -name entry.json | wc -l)))" -eq "$through" ] || fail "there are more than $through entries"

printf '%s\n' \
  "document: $document, exported at $exported_at" \
  "checked: entries 1 to $through are of this document, without a gap, and signed by keys that you named"
if [ -n "$files" ]; then
  printf '%s\n' "checked: the stored files of the versions$files, which are encrypted, are the ones that the vault recorded"
  [ "$(printf '%s' "$files" | wc -w)" -eq "$versions" ] ||
    printf '%s\n' "not here: the files of other versions; the entries record $versions"
else
  printf '%s\n' "not here: the stored files; the entries record those of $versions versions by their hashes"
fi
printf '%s\n' 'checked: every file in this folder is as it was exported, and none was added or removed'
between=$((exported_seq - through - 1))
[ "$between" -eq 0 ] ||
  printf '%s\n' "not here: $between entries that were made while the export was written"
[ -z "$abandoned" ] ||
  printf '%s\n' "not here: the entries$abandoned, which could not be signed; signed tombstones stand in their places"
[ -z "$imported_keys" ] ||
  printf '%s\n' 'note: some entries are signed by an imported key, which others than the HSM may hold'
printf '%s\n' \
  'not known: entries after the export, and what the vault said of its keys since' \
  'not known: who acted; the entries say it by the word of the vault, except where they hold a statement of the author' \
  'not known: whether this script is the one that was exported; whoever changed it could have changed what it says'
