/**
 * How Node runs `app/main.ts`, here as elsewhere (docs/adr/0004-garbage-collection.md): bodies
 * that pass through are external memory, and V8 would otherwise mark the whole heap every 30 MB.
 */
export const appFlags: readonly string[] = [
  '--external-memory-accounted-in-global-limit',
  '--max-semi-space-size=2',
];
