# Functions of verify.sh, which read the files of one entry and verify its signature.

# Reads JSON on one line and without white space outside of texts, as the vault writes it. The path of each
# value is tracked, because texts may look like members. Prints the values of the paths in `wanted`, which
# are separated by spaces and have dots between names, a line each: `-` for one that is absent or has
# characters that no id, number, time or code has.
awk_members='
  { text = text $0 }
  END {
    if (NR != 1) exit 1
    size = length(text)
    for (at = 1; at <= size; at++) {
      sign = substr(text, at, 1)
      if (sign == "{" || sign == "[") {
        name[++depth] = ""
      } else if (sign == "}" || sign == "]") {
        if (depth-- < 1) exit 1
      } else if (sign == "\"") {
        start = at + 1
        for (at++; substr(text, at, 1) != "\""; at++) {
          if (at > size) exit 1
          if (substr(text, at, 1) == "\\") at++
        }
        string = substr(text, start, at - start)
        if (substr(text, at + 1, 1) == ":") {
          name[depth] = string
          at++
        } else {
          keep(string)
        }
      } else if (sign != ",") {
        start = at
        while (at < size && substr(text, at + 1, 1) !~ /[],}]/) at++
        keep(substr(text, start, at - start + 1))
      }
    }
    if (depth != 0) exit 1
    count = split(wanted, paths, " ")
    for (at = 1; at <= count; at++) {
      found = value[paths[at]]
      print found ~ /^[0-9A-Za-z_.:-]+$/ && length(found) <= 128 ? found : "-"
    }
  }
  function keep(text,    place, joined) {
    joined = name[1]
    for (place = 2; place <= depth; place++) joined = joined "." name[place]
    # A name with a dot could look like a path.
    for (place = 1; place <= depth; place++) if (index(name[place], ".")) return
    value[joined] = text
  }
'

# Puts the values of a file into $scratch/members.
read_members() {
  awk -v wanted="$2" "$awk_members" "$1" > "$scratch/members" ||
    fail "$1 is not JSON as the vault writes it"
}

# Whether a time in UTC is no earlier than another one, within the minute by which clocks may differ.
is_within() {
  awk -v from="$1" -v to="$2" '
    function seconds(text,    year, month, day) {
      year = substr(text, 1, 4) + 0
      month = substr(text, 6, 2) + 0
      day = substr(text, 9, 2) + 0
      if (month < 3) { year--; month += 12 }
      day += 365 * year + int(year / 4) - int(year / 100) + int(year / 400) + int((153 * month - 457) / 5)
      return ((day * 24 + substr(text, 12, 2)) * 60 + substr(text, 15, 2)) * 60 + substr(text, 18, 6)
    }
    BEGIN {
      instant = "^[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\\.[0-9][0-9][0-9]Z$"
      if (from !~ instant || to !~ instant) exit 1
      exit !(seconds(to) >= seconds(from) - 60)
    }'
}

# The SHA-256 of the public key in a PEM file that has nothing else in it. The key is kept as $key, in
# base64.
fingerprint_of() {
  openssl pkey -pubin -in "$1" -pubout -out "$scratch/key.pem" 2> /dev/null ||
    fail "$1 is no public key"
  cmp -s "$1" "$scratch/key.pem" || fail "$1 holds more than a public key"
  key=$(openssl pkey -pubin -in "$1" -outform DER | openssl base64 -A)
  case $key in
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE*) ;;
    *) fail "$1 is no key of the kind that vaults have" ;;
  esac
  digest=$(openssl pkey -pubin -in "$1" -outform DER | openssl dgst -sha256 -r)
  fingerprint=${digest%% *}
}

is_named() {
  for pinned in $named; do
    case $1 in
      "$pinned"*) return 0 ;;
    esac
  done
  return 1
}

# Verifies the signature of an entry by the key in a PEM file whose fingerprint was taken just before, and
# that proof.json says the same as the other two files.
has_signature() {
  # openssl reads no more than the 72 bytes that the longest signature by P-256 has.
  [ "$(($(wc -c < "$1/signature.der")))" -le 72 ] &&
    openssl dgst -sha3-256 -verify "$2" -signature "$1/signature.der" "$1/entry.json" > /dev/null 2>&1
}

check_proof_file() {
  {
    printf '{"id":"%s","entryCanonical":"' "$2"
    sed 's/[\\"]/\\&/g' "$1/entry.json" | tr -d '\n'
    printf '","entryHash":"%s","hsmSignature":"%s","hsmKeyId":"%s","publicKey":"%s"}' \
      "$(sha3_256 "$1/entry.json")" "$(openssl base64 -A -in "$1/signature.der")" \
      "$(printf '%.32s' "$fingerprint")" "$key"
  } > "$scratch/proof.json"
  cmp -s "$1/proof.json" "$scratch/proof.json" ||
    fail "$1/proof.json does not say the same as entry.json and signature.der beside it"
}

# Finds the key that signed an entry, beginning with the one that signed the entry before.
find_key() {
  for id in $last_key $keys; do
    has_signature "$1" "keys/$id.pem" || continue
    [ "$id" = "$last_key" ] || fingerprint_of "keys/$id.pem"
    last_key=$id
    is_named "$fingerprint" ||
      fail "$1 is signed by a key that you did not name: its fingerprint is $fingerprint"
    return
  done
  fail "$1/signature.der is not a signature of entry.json by a key in keys/"
}

# Checks what the vault said of the key that signed an entry at a time.
check_validity() {
  if [ "$last_key" != "$read_key" ]; then
    read_members "keys/$last_key.json" 'state activatedAt retiredAt imported'
    {
      read -r state
      read -r activated
      read -r retired
      read -r imported
    } < "$scratch/members"
    read_key=$last_key
  fi
  case $state in
    ACTIVE | RETIRED) ;;
    *) fail "$1 is signed by a key of which the vault said at the export: $state" ;;
  esac
  is_within "$activated" "$2" || fail "$1 was signed before its key was active"
  [ "$retired" = null ] || is_within "$2" "$retired" || fail "$1 was signed after its key was retired"
  [ "$imported" = false ] || imported_keys=yes
}

# Checks entry number $1 of the document.
check_entry() {
  folder=entries/$(printf '%08d' "$1")
  for name in entry.json signature.der proof.json; do
    [ -f "$folder/$name" ] || fail "$folder/$name is missing"
  done
  find_key "$folder"
  read_members "$folder/entry.json" 'id action resource.type resource.id seq sealedAt data.version data.fileHash data.resourceType data.resourceId data.seq'
  {
    read -r id
    read -r action
    read -r type
    read -r resource
    read -r seq
    read -r sealed_at
    read -r version
    read -r file_hash
    read -r abandoned_type
    read -r abandoned_id
    read -r abandoned_seq
  } < "$scratch/members"
  check_proof_file "$folder" "$id"
  check_validity "$folder" "$sealed_at"
  if [ "$action" = audit.abandoned ]; then
    [ "$type" = audit_entry ] && [ "$abandoned_type" = document ] &&
      [ "$abandoned_id" = "$document" ] && [ "$abandoned_seq" = "$1" ] ||
      fail "$folder is the tombstone of another entry"
    abandoned="$abandoned $1"
    return
  fi
  [ "$type" = document ] && [ "$resource" = "$document" ] || fail "$folder is an entry of another document"
  [ "$seq" = "$1" ] || fail "$folder is the entry number $seq"
  case $action in
    document.created) version=1 ;;
    document.version_added) ;;
    *) return ;;
  esac
  check_version "$version" "$file_hash"
}

check_version() {
  versions=$((versions + 1))
  [ -f "versions/$1.bin" ] || return
  [ "$(sha3_256 "versions/$1.bin")" = "$2" ] ||
    fail "versions/$1.bin is not the file that the vault recorded as version $1"
  files="$files $1"
}
