/** A control character, which no key holds (object-key.ts); in terminals it is what `ESC \` stands for. */
const standIn = '\u009c';

/** The name of an object on the server. Some servers take `\` for `/`, so something else travels in its place. */
export function toServerKey(key: string): string {
  return key.replaceAll('\\', standIn);
}

export function fromServerKey(serverKey: string): string {
  return serverKey.replaceAll(standIn, '\\');
}
