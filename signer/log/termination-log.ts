import { closeSync, constants, openSync, writeSync } from 'node:fs';

/** The file that Kubernetes puts into each container unless told otherwise. */
export const defaultTerminationLog = '/dev/termination-log';

/** Bytes of the file that Kubernetes reads. */
const maxBytes = 4_096;
const { O_WRONLY, O_TRUNC, O_NONBLOCK } = constants;

/** Returns the file of a process whose settings may be wrong. */
export function terminationLogOf({ TERMINATION_LOG: file = '' }: NodeJS.ProcessEnv): string {
  return file === '' ? defaultTerminationLog : file;
}

/**
 * Writes why a process ends to `file`, from which Kubernetes takes the message that `kubectl
 * describe pod` shows. A reason over 4 KiB is cut. Never creates the file and never throws: outside
 * of Kubernetes there is none, and the reason is in the log anyway.
 */
export function writeTerminationLog(file: string, reason: string): void {
  try {
    const descriptor = openSync(file, O_WRONLY | O_TRUNC | O_NONBLOCK);
    try {
      writeSync(descriptor, cut(reason));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // See above.
  }
}

/** Returns the UTF-8 bytes of a text, cut between two characters if it is too long. */
function cut(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return bytes;
  const mark = '…';
  const beginning = bytes.subarray(0, maxBytes - Buffer.byteLength(mark)).toString();
  // The bytes of a character that was cut through decode to replacement characters.
  return Buffer.from(`${beginning.replace(/\uFFFD+$/, '')}${mark}`);
}
