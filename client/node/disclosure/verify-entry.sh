# Functions of verify-original.sh, which verify entry.json: the signature of the vault's HSM, and what
# the author of the entry stated.

# Reads the entry once its signature is known to be valid: what is signed is JSON in canonical form, on
# one line and without white space. The path of each value is tracked, because texts in the entry may
# look like members of it. Prints the members that matter, and what is wrong with the statement of the
# author: nothing if it is none, or `ok`.
awk_entry='
  { text = text $0 }
  END {
    if (NR != 1) exit 1
    size = length(text)
    statement = path_of("data", "author", "statement")
    for (at = 1; at <= size; at++) {
      sign = substr(text, at, 1)
      if (sign == "{" || sign == "[") {
        if (path() == statement) begin = at
        name[++depth] = ""
      } else if (sign == "}" || sign == "]") {
        depth--
        if (begin && path() == statement) {
          stated_text = substr(text, begin, at - begin + 1)
          begin = 0
        }
      } else if (sign == "\"") {
        start = at + 1
        for (at++; substr(text, at, 1) != "\""; at++) {
          if (at > size) exit 1
          if (substr(text, at, 1) == "\\") at++
        }
        string = substr(text, start, at - start)
        if (substr(text, at + 1, 1) == ":") {
          name[depth] = string
          if (begin) members++
          at++
        } else {
          is_text[path()] = 1
          keep(string)
        }
      } else if (sign != ",") {
        start = at
        while (at < size && substr(text, at + 1, 1) !~ /[],}]/) at++
        keep(substr(text, start, at - start + 1))
      }
    }
    if (value["action"] != "document.sealed" || value["outcome"] != "success") exit 3
    commitment = value[path_of("data", "contentCommitment")]
    if (!is_hex(commitment)) exit 4
    print parse_hex(commitment)
    print shown(value[path_of("resource", "id")], "^[0-9a-f-]+$")
    print shown(value[path_of("data", "version")], "^[0-9]+$")
    print shown(value["sealedAt"], "^[0-9TZ:.-]+$")
    print shown(value[path_of("actor", "type")], "^[a-z_]+$")
    print shown(value[path_of("actor", "id")], "^[0-9A-Za-z_.:-]+$")
    print judge_statement()
    print stated_text
    print value[path_of("data", "author", "signature")]
    print stated("publicKey")
    print value[path_of("data", "author", "sharingKey")]
    print shown(stated("statedAt"), "^[0-9TZ:.-]+$")
  }
  function path_of(a, b, c) {
    return c == "" ? a SUBSEP b : a SUBSEP b SUBSEP c
  }
  function path(    place, joined) {
    joined = name[1]
    for (place = 2; place <= depth; place++) joined = joined SUBSEP name[place]
    return joined
  }
  function keep(text) {
    value[path()] = text
    if (name[1] == "data" && name[2] == "author") has_author = 1
  }
  function shown(text, pattern) {
    return text ~ pattern && length(text) <= 64 ? text : "unknown"
  }
  function stated(member) {
    return value[path_of("data", "author", "statement") SUBSEP member]
  }
  # Canonical base64 of 32 bytes: the last character leaves two bits unused.
  function is_key(text) {
    return length(text) == 44 && text ~ /^[A-Za-z0-9+\/]+[AEIMQUYcgkosw048]=$/
  }
  # Canonical base64 of 64 bytes: the last character leaves four bits unused.
  function is_signature(text) {
    return length(text) == 88 && text ~ /^[A-Za-z0-9+\/]+[AQgw]==$/
  }
  function is_unquoted(member) {
    return !((path_of("data", "author", "statement") SUBSEP member) in is_text)
  }
  function is_instant(text) {
    return text ~ /^[0-9][0-9][0-9][0-9]-(0[1-9]|1[0-2])-[0-3][0-9]T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9][0-9][0-9]Z$/ &&
      is_day(substr(text, 1, 4) + 0, substr(text, 6, 2) + 0, substr(text, 9, 2) + 0)
  }
  # Whether the month has this day, in the Gregorian calendar.
  function is_day(year, month, day,    is_leap) {
    is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    if (month == 2) return day >= 1 && day <= 28 + is_leap
    return day >= 1 && day <= (month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31)
  }
  # Milliseconds since the year 0, in the Gregorian calendar.
  function instant(text,    year, month, day) {
    year = substr(text, 1, 4) + 0
    month = substr(text, 6, 2) + 0
    day = substr(text, 9, 2) + 0
    if (month < 3) { year--; month += 12 }
    day += 365 * year + int(year / 4) - int(year / 100) + int(year / 400) + int((153 * month - 457) / 5)
    return (((day * 24 + substr(text, 12, 2)) * 60 + substr(text, 15, 2)) * 60 + substr(text, 18, 2)) * 1000 + substr(text, 21, 3)
  }
  function judge_statement(    owner, difference) {
    if (!has_author) return "none"
    if (stated_text == "" || members != 11 || stated("v") != "1" || !is_unquoted("v") ||
        !is_unquoted("version") || !is_instant(stated("statedAt")) ||
        !is_instant(value["timestamp"]) || !is_key(stated("publicKey")) ||
        !is_key(value[path_of("data", "author", "sharingKey")]) ||
        !is_signature(value[path_of("data", "author", "signature")])) return "statement_malformed"
    owner = stated("owner")
    if (stated("issuer") != value["issuer"] || owner != value[path_of("resource", "owner")] ||
        owner != value[path_of("actor", "id")] || value[path_of("actor", "type")] != "user" ||
        value[path_of("resource", "type")] != "document" ||
        stated("documentId") != value[path_of("resource", "id")]) return "statement_elsewhere"
    if (stated("action") != value["action"] || differs("version") || differs("fileHash") ||
        differs("metadataHash") || differs("contentCommitment")) return "statement_mismatch"
    difference = instant(stated("statedAt")) - instant(value["timestamp"])
    return difference < -600000 || difference > 600000 ? "statement_misdated" : "ok"
  }
  function differs(member) {
    return stated(member) != value[path_of("data", member)]
  }
'

# Verifies signature.der and keeps the fingerprint of the key. The key must be one of P-256, and
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
  # openssl reads no more than the 72 bytes that the longest signature by P-256 has.
  [ "$(($(wc -c < "$folder/signature.der")))" -le 72 ] ||
    fail 'signature.der is longer than any signature by the key in key.pem'
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
    read -r judged
    read -r statement
    read -r author_signature
    read -r author_key
    read -r sharing_key
    read -r stated_at
  } << END
$entry
END
}

# Verifies what the author stated, and keeps what is to be said of the actor.
check_author() {
  author="actor: $actor_type $actor, by the vault's word: the entry holds no statement"
  if [ "$judged" = none ]; then
    [ -z "$author_pinned" ] || fail 'entry.json holds no statement of its author'
    return
  fi
  [ "$judged" = ok ] || fail "the author's statement in entry.json is not of this entry: $judged"
  scratch=${TMPDIR:-/tmp}/verify-original.$$
  (umask 077 && mkdir "$scratch") || give_up "no folder can be made in ${TMPDIR:-/tmp}"
  trap 'rm -rf "$scratch"' EXIT
  printf '%s\n' '-----BEGIN PUBLIC KEY-----' "MCowBQYDK2VwAyEA$author_key" \
    '-----END PUBLIC KEY-----' > "$scratch/key.pem"
  { printf 'Service_Author_Statement_v1\000'; printf '%s' "$statement"; } > "$scratch/statement"
  printf '%s' "$author_signature" | openssl base64 -d -A > "$scratch/signature"
  openssl pkeyutl -verify -rawin -pubin -inkey "$scratch/key.pem" -in "$scratch/statement" \
    -sigfile "$scratch/signature" > /dev/null 2>&1 ||
    fail "the author's statement in entry.json is not signed by the key that it names"
  author_fingerprint=$(
    {
      printf 'Service_Identity_Fingerprint_v1\000'
      printf '%s' "$sharing_key" | openssl base64 -d -A
      printf '%s' "$author_key" | openssl base64 -d -A
    } | openssl dgst -sha3-256 -r | cut -c 1-32
  )
  author="author: user $actor stated so at $stated_at, by the key $author_fingerprint"
  if [ -z "$author_pinned" ]; then
    author="$author, by the vault's word: compare it with the author's own copy"
  elif [ "$author_pinned" = "$author_fingerprint" ]; then
    author="$author, as you named it"
  else
    fail "the author's key is not the one that you named: its fingerprint is $author_fingerprint"
  fi
}
