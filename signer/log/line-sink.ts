import { fstatSync, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';

/** Bytes of lines that may wait for the reader of a pipe. */
const maxWaitingBytes = 2 ** 20;

/** Where a log writes its lines. */
export interface LineSink {
  /** Writes a line, or drops it. Never waits and never throws. */
  write(line: string): void;
}

interface SinkOptions {
  /** Is called before the first line after dropped ones, with their number. */
  readonly afterDrop: (dropped: number) => void;
}

/**
 * Opens standard output for the lines of a log. Lines are dropped while nobody reads the pipe, the
 * volume is full or the reader is gone: a process that cannot log must go on, and must be able to
 * end.
 */
export function openStandardOutput(options: SinkOptions): LineSink {
  // An error of a stream without a listener would end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const stats = fstatSync(1);
  const isStream = stats.isFIFO() || stats.isSocket();
  return sinkOf(isStream ? streamWriter(process.stdout) : fileWriter(1), options);
}

/** Writes a text, or returns false if that is not possible now. */
type Write = (text: string) => boolean;

/** Returns a sink that drops the lines that `write` does not take. */
function sinkOf(write: Write, { afterDrop }: SinkOptions): LineSink {
  let dropped = 0;
  return {
    write(line) {
      if (dropped > 0) {
        const count = dropped;
        dropped = 0;
        afterDrop(count);
        // The line about the dropped ones was dropped itself.
        if (dropped > 0) {
          dropped = count + 1;
          return;
        }
      }
      if (!write(line)) dropped += 1;
    },
  };
}

/**
 * Returns a writer to a pipe or socket, which Node writes without blocking. Once lines had to be
 * dropped, no line is taken until half of those that wait have been read, so that a slow reader
 * does not get a report of dropped lines after every few lines.
 */
function streamWriter(stream: Writable): Write {
  let isFull = false;
  return (text) => {
    isFull = stream.writableLength > (isFull ? maxWaitingBytes / 2 : maxWaitingBytes);
    if (isFull || !stream.writable) return false;
    stream.write(text);
    return true;
  };
}

/** Returns a writer to a file or terminal, in which each write fails or ends soon. */
function fileWriter(fd: number): Write {
  let isTorn = false;
  return (text) => {
    const bytes = Buffer.from(isTorn ? `\n${text}` : text);
    try {
      // A volume that becomes full takes the beginning of a line.
      isTorn = writeSync(fd, bytes) < bytes.length;
      return !isTorn;
    } catch {
      return false;
    }
  };
}
