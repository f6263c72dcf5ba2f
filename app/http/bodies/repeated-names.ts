/**
 * Whether an object of a JSON text has two members of one name: JSON.parse takes the last, others the
 * first, so that what one of them checked is not what the other reads.
 * @param value what JSON.parse made of the text, not nested deeper than a call stack
 */
export function hasRepeatedNames(text: string, value: unknown): boolean {
  return countNames(text) !== countMembers(value);
}

const [backslash, quote] = [0x5c, 0x22];
const space = /\s*/y;

/** The strings of a JSON text that a colon follows. By hand: a match object for each would hold everybody up. */
function countNames(text: string): number {
  let names = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    at += 1;
    for (let code = text.charCodeAt(at); code !== quote; code = text.charCodeAt(at)) {
      at += code === backslash ? 2 : 1;
    }
    space.lastIndex = at + 1;
    space.test(text);
    at = space.lastIndex;
    if (text[at] === ':') names += 1;
  }
  return names;
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item);
    return count;
  }
  for (const member of Object.values(value)) count += 1 + countMembers(member);
  return count;
}
