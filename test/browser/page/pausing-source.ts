import type { ByteSource } from '../../../client/files/byte-source.ts';

/** Returns a source that stops before the last bytes of the file, until `goOn` is called. */
export function pauseBeforeEnd(whole: ByteSource) {
  const pause = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const source: ByteSource = {
    size: whole.size,
    async read(offset, length) {
      if (offset + length === whole.size) {
        pause.resolve();
        await end.promise;
      }
      return whole.read(offset, length);
    },
  };
  return { source, isPaused: pause.promise, goOn: () => end.resolve() };
}
