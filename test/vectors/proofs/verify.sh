#!/bin/sh
# Verifies audit proofs with OpenSSL 3 and jq, without the vault or its software.
#
#   verify.sh KEYS PROOF...
#
# KEYS is a directory of the public keys that you trust, *.pem: of those that GET /v1/audit/keys
# lists, the ones whose fingerprint you have from elsewhere too. Each PROOF is a directory that holds
# a proof.json as the vault hands it out; nothing in it is changed. If KEYS holds a keys.json too, the
# answer of GET /v1/audit/keys, then what a key signed before its activation or after its retirement is
# not valid, and nothing that a compromised key signed: of that, only the vault itself knows what is.
#
# Prints a line a proof, "valid" or "invalid: " and the first thing wrong, and ends with the status 0
# if all of them are valid, 1 if one is not, and 2 if nothing can be said.
set -u
LC_ALL=C
export LC_ALL

fail() {
  printf '%s\n' "$1" >&2
  exit 2
}

[ $# -ge 2 ] || fail 'usage: verify.sh KEYS PROOF...'
case $(openssl version) in
  'OpenSSL '[3-9].* | 'OpenSSL '[1-9][0-9].*) ;;
  *) fail 'this takes OpenSSL 3 or newer' ;;
esac
command -v jq > /dev/null || fail 'this takes jq'

# What no signature speaks for: that the file is a proof, and its entry in the one form that RFC 8785
# gives it. Answers a line with the defect, or none, and a line each with hash, signature, key id, key,
# entry and when it was signed. The entry is looked at as it stands, since jq, like others, would let pass what differs.
examine='
  def matches($regex): test("\\A(?:\($regex))\\z");

  # Binary: one text for each value.
  def is_base64($max):
    . == "" or
    (matches("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?")
      and length / 4 * 3 - (capture("(?<padding>=*)\\z").padding | length) <= $max);

  def is_proof:
    type == "object"
    and keys == ["entryCanonical", "entryHash", "hsmKeyId", "hsmSignature", "id", "publicKey"]
    and all(.[]; type == "string" and (explode | index(0) | not))
    and (.entryCanonical | utf8bytelength <= 65536 and length >= 2)
    and (.hsmSignature | length <= 108 and is_base64(80))
    and (.publicKey | length <= 684 and is_base64(512))
    and (.id | matches("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"))
    and (.entryHash | matches("[0-9a-f]{64}"))
    and (.hsmKeyId | matches("[0-9a-f]{32}"));

  # Of the text of a string: whether it is a time in UTC with milliseconds.
  def is_instant:
    matches("\"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
      + "T(?:[01][0-9]|2[0-3])(?::[0-5][0-9]){2}\\.[0-9]{3}Z\"");

  # A number as its sign, its digits without zeros around, and the power of ten that they, as a
  # fraction, are multiplied with.
  def parts:
    capture("^(?<sign>-?)(?<int>[0-9]+)(?:\\.(?<frac>[0-9]+))?(?:e(?<exp>[+-]?[0-9]+))?$")
    | (.int + (.frac // "")) as $all
    | ($all | sub("^0+"; "")) as $significant
    | {
        sign,
        digits: ($significant | sub("0+$"; "")),
        power: ((.int | length) - ($all | length) + ($significant | length)
          + (.exp // "0" | ltrimstr("+") | tonumber)),
      };

  # As ECMAScript writes it.
  def written:
    (.digits | length) as $count
    | .power as $power
    | .sign + (
        if $count <= $power and $power <= 21 then .digits + ("0" * ($power - $count) // "")
        elif 0 < $power and $power <= 21 then .digits[:$power] + "." + .digits[$power:]
        elif -6 < $power and $power <= 0 then "0." + ("0" * -$power // "") + .digits
        else
          .digits[:1] + (if $count > 1 then "." + .digits[1:] else "" end)
          + "e" + (if $power > 0 then "+" else "-" end) + ($power - 1 | fabs | tostring)
        end);

  # The shortest digits that mean the same number, in the form of ECMAScript.
  def is_canonical_number:
    . == "0" or matches("-?[1-9][0-9]{0,14}") or (
      parts as $parts
      | $parts.digits != ""
      and ($parts | written) == .
      and (tonumber + 0 | tostring | parts) == $parts);

  # Of the text of a string: its UTF-16, which is what names are sorted by.
  def utf16:
    fromjson | explode
    | map(if . < 65536 then . else . - 65536 | 55296 + (. / 1024 | floor), 56320 + . % 1024 end);

  def is_canonical_string:
    matches("\"(?>[^\"\\\\\\x00-\\x1f]|\\\\[\"\\\\bfnrt]|\\\\u00(?:0[0-7bef]|1[0-9a-f]))*\"");

  def is_canonical_scalar:
    if startswith("\"") then is_canonical_string
    elif test("^-?[0-9]") then is_canonical_number
    else matches("true|false|null") end;

  # Of a text without strings.
  def words:
    if test("\\s") then "white space" else
      reduce ("[", "]", "{", "}", ":", ",") as $sign (.; split($sign) | join(" " + $sign + " "))
      | split(" ")[] | select(. != "")
    end;

  # A quote within a string follows an odd number of backslashes.
  def tokens:
    foreach (split("\"")[], null) as $piece (
      {string: null, tokens: []};
      if $piece == null then .tokens = (if .string == null then ["no end"] else [] end)
      elif .string == null then .string = "" | .tokens = [$piece | words]
      else
        .string += $piece
        | if $piece | test("(?<!\\\\)(?:\\\\\\\\)*\\\\\\z") then .string += "\"" | .tokens = []
          else .tokens = ["\"" + .string + "\""] | .string = null end
      end;
      .tokens[]);

  # The members of the outermost value, by name; null unless the text is in canonical form. `open`
  # is [innermost, those around it]: of an object the last name in it, of an array true.
  def canonical_members:
    reduce tokens as $token (
      {open: null, next: "value", members: {}, name: null};
      if .next == "nothing" then .
      elif .next == "name" or .next == "first name" and $token != "}" then
        if $token | is_canonical_string then
          ($token | utf16) as $name
          | if .open[0] == false or .open[0] < $name then
              .open[0] = $name | .next = "colon"
              | if .open[1] == null then .name = $token else . end
            else .next = "nothing" end
        else .next = "nothing" end
      elif .next == "colon" then .next = (if $token == ":" then "value" else "nothing" end)
      elif .next == "value" or .next == "first value" and $token != "]" then
        if .name != null and .open[1] == null then .members[.name] = $token else . end
        | if $token == "{" then .open = [false, .open] | .next = "first name"
          elif $token == "[" then .open = [true, .open] | .next = "first value"
          elif $token | is_canonical_scalar then .next = "more"
          else .next = "nothing" end
      elif .open == null then .next = "nothing"
      elif .next == "more" and $token == "," then
        .next = (if .open[0] == true then "value" else "name" end)
      elif $token == (if .open[0] == true then "]" else "}" end) then
        .open = .open[1] | .next = "more"
      else .next = "nothing" end)
    | if .next == "more" and .open == null then .members else null end;

  def defect:
    .id as $id
    | (.entryCanonical | canonical_members) as $members
    | if $members == null then "not_canonical"
      elif $members["\"v\""] != "2" or ($members["\"id\""] // "" | startswith("\"") | not)
        or ($members["\"sealedAt\""] // "" | is_instant | not)
        then "not_an_entry"
      elif $members["\"id\""] != "\"\($id)\"" then "id_mismatch"
      else "none" end;

  if length == 1 and (.[0] | is_proof) then
    .[0] | defect, .entryHash, .hsmSignature, .hsmKeyId, .publicKey, (.entryCanonical | @base64),
      (.entryCanonical | canonical_members["\"sealedAt\""]? // "" | .[1:-1])
  else "malformed" end
'

# Whether it is UTF-8 without a byte order mark and without half of a surrogate pair, of all which jq
# would make something else.
is_text() {
  iconv -f UTF-8 -t UTF-8 "$1" > /dev/null 2>&1 || return 1
  [ "$(head -c 3 "$1")" != "$(printf '\357\273\277')" ] || return 1
  high='\\u[dD][89abAB][0-9a-fA-F]\{2\}'
  low='\\u[dD][c-fC-F][0-9a-fA-F]\{2\}'
  ! sed -e 's/\\\\//g' -e "s/$high$low//g" "$1" | grep -q -e "$high" -e "$low"
}

decode() {
  printf '%s' "$1" | openssl base64 -d -A
}

# Of the list of keys: whether a key may have signed an entry at an instant, with the minute by which
# clocks of signers may differ. Instants of this form are in the order of their texts.
validity='
  def shifted($seconds):
    (.[:19] + "Z" | fromdateiso8601 + $seconds | todateiso8601 | .[:19]) + .[19:];

  first(.keys[] | select(.keyId == $id)) // {state: "UNKNOWN"}
  | if .state == "UNKNOWN" then "none"
    elif .state == "COMPROMISED" then "key_compromised"
    elif .activatedAt == null or $at < (.activatedAt | shifted(-60))
      or (.retiredAt != null and $at > (.retiredAt | shifted(60))) then "outside_key_validity"
    elif .imported then "imported"
    else "none" end
'

judge_key() {
  if [ -e "$list" ]; then
    jq -r --arg id "$1" --arg at "$2" "$validity" "$list"
  else
    echo none
  fi
}

# The first thing wrong with the proof in a file; of an imported key, that it is one.
find_defect() {
  is_text "$1" || { echo malformed; return; }
  { read -r defect; read -r hash; read -r signature; read -r key_id; read -r key; read -r entry; read -r sealed_at; } << END
$(jq -rs "$examine" "$1" 2> /dev/null || echo malformed)
END
  [ "$defect" = none ] || { echo "$defect"; return; }

  decode "$entry" > "$work/entry.json"
  decode "$signature" > "$work/signature.der"
  decode "$key" > "$work/key.der"
  case $(openssl dgst -sha3-256 -r "$work/entry.json") in
    "$hash "*) ;;
    *) echo hash_mismatch; return ;;
  esac
  case $(openssl dgst -sha256 -r "$work/key.der") in
    "$key_id"*) ;;
    *) echo key_id_mismatch; return ;;
  esac
  case $trusted in
    *" $key "*) ;;
    *) echo key_untrusted; return ;;
  esac
  # Of P-256, with an uncompressed point.
  case $key in
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE*) ;;
    *) echo signature_invalid; return ;;
  esac
  openssl dgst -sha3-256 -verify "$work/key.der" -keyform DER -signature "$work/signature.der" \
    "$work/entry.json" > /dev/null 2>&1 || { echo signature_invalid; return; }
  judge_key "$key_id" "$sealed_at"
}

explain() {
  case $1 in
    malformed) echo 'this is no proof: a member is missing, unknown or not of its form' ;;
    not_canonical) echo 'the entry is not in the canonical form of RFC 8785' ;;
    not_an_entry) echo 'what was signed is no audit entry' ;;
    id_mismatch) echo 'the entry has another id' ;;
    hash_mismatch) echo 'the hash is not that of the entry' ;;
    key_id_mismatch) echo 'the key id is not that of the key' ;;
    key_untrusted) echo 'the key is none of those that you trust' ;;
    signature_invalid) echo 'the signature is not one of the entry by this key' ;;
    key_compromised) echo 'somebody else may have the key: ask the vault whether it holds the entry' ;;
    outside_key_validity) echo 'the key was not active when the entry was signed' ;;
  esac
}

list=$1/keys.json
[ ! -e "$list" ] || jq -e '.keys | type == "array"' "$list" > /dev/null 2>&1 ||
  fail "$list is no list of keys"
trusted=' '
for pem in "$1"/*.pem; do
  key=$(openssl pkey -pubin -in "$pem" -outform DER 2> /dev/null | openssl base64 -A)
  [ -n "$key" ] || fail "$pem is no public key"
  trusted="$trusted$key "
done
shift

work=$(mktemp -d) || fail 'there is no room for temporary files'
trap 'rm -rf "$work"' EXIT
status=0
for folder in "$@"; do
  [ -r "$folder/proof.json" ] || fail "$folder holds no proof.json"
  defect=$(find_defect "$folder/proof.json")
  if [ "$defect" = none ]; then
    printf '%s: valid\n' "$folder"
  elif [ "$defect" = imported ]; then
    printf '%s: valid: imported: the HSM did not generate the key, so others may hold it\n' "$folder"
  else
    printf '%s: invalid: %s: %s\n' "$folder" "$defect" "$(explain "$defect")"
    status=1
  fi
done
exit $status
