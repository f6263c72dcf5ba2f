/**
 * Calls `onLate` after `ms`, unless the returned function is called before. A process that was
 * stopped itself, or had no processor, finds its timers due before it reads what arrived meanwhile:
 * it first reads that, and so does not take its own pause for the silence of somebody else.
 */
export function startDeadline(ms: number, onLate: () => void): () => void {
  let reading: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    // Node reads from sockets before it calls the first immediate, and before the second one too:
    // a response may need two reads until its promise settles.
    reading = setImmediate(() => {
      reading = setImmediate(onLate);
    });
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(reading);
  };
}
