# Functions of verify-original.sh, which read opening.txt and compute the content commitment again.

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
