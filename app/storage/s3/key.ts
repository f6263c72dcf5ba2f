/** A control character (C1 ST), which no valid key contains (object-key.ts). */
const standIn = '\u009c';

/** Returns the key to send to the server. Some servers treat `\` as `/`, so it is replaced. */
export function toServerKey(key: string): string {
  return key.replaceAll('\\', standIn);
}

/** Reverses toServerKey. */
export function fromServerKey(serverKey: string): string {
  return serverKey.replaceAll(standIn, '\\');
}
