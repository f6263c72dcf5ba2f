/** Names up to this length count as similar at one letter of difference, longer ones at two. */
const shortLength = 5;

/**
 * Returns the name that `unknown` was probably meant to be: the nearest within two letters, or
 * within one of a short name. Returns undefined if there is none, or if only a number is appended.
 */
export function findSimilar(unknown: string, names: readonly string[]): string | undefined {
  const written = unknown.toUpperCase();
  const near = names
    .filter((name) => Math.abs(name.length - written.length) <= 2)
    .filter((name) => !isNumbered(written, name))
    .map((name) => ({ name, distance: countEdits(written, name) }))
    .filter(({ name, distance }) => distance <= (name.length <= shortLength ? 1 : 2));
  return near.toSorted((a, b) => a.distance - b.distance)[0]?.name;
}

/** Returns whether the text is the name and a number, as in PORT0, of which there may be many. */
function isNumbered(text: string, name: string): boolean {
  return text.startsWith(name) && /^\d+$/.test(text.slice(name.length));
}

/**
 * Returns how many letters must be inserted, removed, replaced or swapped with their neighbour to
 * turn one text into the other (Damerau–Levenshtein, optimal string alignment).
 */
function countEdits(from: string, to: string): number {
  let beforeLast: readonly number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const edits = [
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        ...(isSwapped ? [at(beforeLast, column - 2) + 1] : []),
      ];
      current.push(Math.min(...edits));
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
