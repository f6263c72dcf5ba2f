/** The prefix of the object keys of all high-water marks. */
export const markPrefix = 'marks/';

const form = /^marks\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.json$/;

/** Returns the object key of a high-water mark. */
export function markKey(markId: string): string {
  return `${markPrefix}${markId}.json`;
}

/** Returns the id of the high-water mark at an object key; undefined for any other object. */
export function markIdOf(key: string): string | undefined {
  return form.exec(key)?.[1];
}
