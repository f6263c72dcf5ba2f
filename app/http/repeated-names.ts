/** The strings of a JSON text, each with the colon behind it where it names a member. */
const strings = /"[^"\\]*(?:\\.[^"\\]*)*"\s*(:?)/g;

/**
 * Whether an object of a JSON text has two members of one name: JSON.parse takes the last, others the
 * first, so that what one of them checked is not what the other reads.
 * @param value what JSON.parse made of the text
 */
export function hasRepeatedNames(text: string, value: unknown): boolean {
  let names = 0;
  for (const [, colon] of text.matchAll(strings)) if (colon === ':') names += 1;
  return names !== countMembers(value);
}

function countMembers(value: unknown): number {
  let count = 0;
  const pending = [value];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const members: unknown[] = Object.values(next);
    if (!Array.isArray(next)) count += members.length;
    for (const member of members) pending.push(member);
  }
  return count;
}
