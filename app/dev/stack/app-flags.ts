/**
 * The flags with which Node runs `app/main.ts`, here as in production
 * (docs/adr/0004-garbage-collection.md). The bodies that the app relays count as external memory,
 * and without these flags V8 would therefore mark the whole heap again and again.
 */
export const appFlags: readonly string[] = [
  '--external-memory-accounted-in-global-limit',
  '--heap-growing-percent=100',
  '--max-semi-space-size=4',
];
