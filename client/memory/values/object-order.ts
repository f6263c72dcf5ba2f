import type { RememberedObject, StatementIds } from './remembered.ts';

/** Returns the device whose statement is older than the known one; undefined if there is none. */
export function findOlderDevice(shown: StatementIds, known: StatementIds): string | undefined {
  const older = Object.entries(known).find(([device, [count, hash]]) => {
    const [present, presentHash] = shown[device] ?? [0, ''];
    return present < count || (present === count && presentHash !== hash);
  });
  return older?.[0];
}

/** Returns whether the vault cannot honestly show a state of an object after a known one. */
export function isOlder(
  shown: Omit<RememberedObject, 'accepted'>,
  known: Omit<RememberedObject, 'accepted'>,
): boolean {
  if (shown.deleted === true) return false;
  return (
    known.deleted === true || findOlderDevice(shown.statements, known.statements) !== undefined
  );
}

/** Returns whether a state that a device tells takes the place of the one that it told before. */
export function replacesObject(
  value: RememberedObject,
  known: RememberedObject | undefined,
): boolean {
  const [accepted, before] = [value.accepted ?? 0, known?.accepted ?? 0];
  return accepted === before ? known === undefined || !isOlder(value, known) : accepted > before;
}
