/** What the keys of all marks begin with. */
export const markPrefix = 'marks/';

const form = /^marks\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.json$/;

/** Where a mark is in the object store. */
export function markKey(markId: string): string {
  return `${markPrefix}${markId}.json`;
}

/** Undefined for the key of anything else. */
export function markIdOf(key: string): string | undefined {
  return form.exec(key)?.[1];
}
