/** The action of a high-water mark, which has a request of its own. */
export const markAction = 'vault.marked';

/** The owner of entries that belong to no user. */
export const noOwner = '00000000-0000-0000-0000-000000000000';

const keyPrefix = 'key.';

/** Returns whether an action is about a signing key; its entries have a request of their own. */
export function isKeyAction(action: string): boolean {
  return action.startsWith(keyPrefix);
}

/**
 * Returns whether the canonical text of an entry is that of a signing key. `action` is the first
 * member of every entry, since canonical form sorts members by name.
 */
export function isKeyText(text: string): boolean {
  return text.startsWith(`{"action":"${keyPrefix}`);
}
