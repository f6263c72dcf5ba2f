/**
 * Returns whether an object in a JSON text has two members of the same name. JSON.parse uses the
 * last of these members, some parsers use the first: a value that was checked here might then not
 * be the value that another program reads.
 * @param value the result of JSON.parse for the text, whose nesting must fit on the call stack
 */
export function hasRepeatedNames(text: string, value: unknown): boolean {
  return countNames(text) !== countMembers(value);
}

type JsonObject = Readonly<Record<string, unknown>>;

const [backslash, colon, quote] = [0x5c, 0x3a, 0x22];
const [space, lineFeed, carriageReturn, tab] = [0x20, 0x0a, 0x0d, 0x09];

/**
 * Counts the strings of a JSON text that are followed by a colon. Scans by hand, since a match
 * object for each string would block the event loop.
 */
function countNames(text: string): number {
  let names = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    at += 1;
    for (let code = text.charCodeAt(at); code !== quote; code = text.charCodeAt(at)) {
      at += code === backslash ? 2 : 1;
    }
    at += 1;
    while (isSpace(text.charCodeAt(at))) at += 1;
    if (text.charCodeAt(at) === colon) names += 1;
  }
  return names;
}

/** Returns whether JSON allows a character between its tokens. */
function isSpace(code: number): boolean {
  return code === space || code === lineFeed || code === carriageReturn || code === tab;
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item);
    return count;
  }
  for (const key of Object.keys(value)) count += 1 + countMembers((value as JsonObject)[key]);
  return count;
}
