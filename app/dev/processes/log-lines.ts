import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

export function forEachLine(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream, crlfDelay: Infinity }).on('line', onLine);
}
