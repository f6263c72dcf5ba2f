import type { KeyState } from '../../db/tables/keys.ts';
import { noMark, type Mark } from './mark.ts';

interface KnownKey {
  readonly keyId: string;
  readonly state: KeyState;
}

/** The contents of database, HSM token and object store, each of which may be a restored backup. */
interface Backups {
  readonly database: {
    /** The id of the newest high-water mark that was written, or noMark. */
    readonly newestMark: string;
    readonly sealed: number;
    /**
     * Whether the database contains, sealed, the newest entry that the object store's high-water
     * mark names.
     */
    readonly hasNewestEntry: boolean;
    readonly keyIds: ReadonlySet<string>;
  };
  readonly token: {
    readonly keyIds: ReadonlySet<string>;
    /**
     * The keys that the database contains. The token must hold each of these keys unless it is
     * retired or compromised.
     */
    readonly expected: readonly KnownKey[];
  };
  readonly objectStore: {
    /** The newest high-water mark that one of the vault's own keys signed. */
    readonly mark: Mark | undefined;
    /** The ids of later high-water marks that no key of the vault signed, newest first. */
    readonly strange: readonly string[];
  };
}

/** A part of the vault of which there are backups. */
export type Part = 'database' | 'token' | 'object store';

export interface Comparison {
  /** The id of the newest high-water mark of all, by which an operator can accept this state. */
  readonly markId: string;
  /**
   * One phrase for each thing that the database, the token or the object store lacks although one
   * of the other two refers to it; empty if nothing is lacking.
   */
  readonly losses: readonly string[];
  /** The parts to which the losses belong. */
  readonly lacking: readonly Part[];
  /** The ids of retired keys that the token no longer holds, which is no loss. */
  readonly destroyedKeys: readonly string[];
}

/**
 * Finds out whether the database, the HSM token or the object store is older than what the other
 * two refer to.
 */
export function compareBackups(backups: Backups): Comparison {
  const { database, token, objectStore } = backups;
  const { mark, strange } = objectStore;
  const ourNewest = [database.newestMark, mark?.id ?? noMark].sort().at(-1) ?? noMark;
  // Marks that unknown keys signed matter only if no mark of a known key exists: they may then be
  // the vault's own marks, and the vault has lost their keys.
  const unexplained = ourNewest === noMark ? strange : [];
  const missing = token.expected.filter(({ keyId }) => !token.keyIds.has(keyId));
  const ofDatabase = lossesOfDatabase(backups);
  const ofToken = lossesOfToken(backups, missing);
  const ofStore = lossesOfStore(backups);
  const isStrange = unexplained.length > 0;
  return {
    markId: unexplained[0] ?? ourNewest,
    losses: [
      ...ofDatabase,
      ...ofToken,
      ...ofStore,
      ...unexplained.slice(0, 1).map((newest) => describeStrange(unexplained.length, newest)),
    ],
    lacking: [
      ...(ofDatabase.length > 0 || isStrange ? ['database' as const] : []),
      ...(ofToken.length > 0 || isStrange ? ['token' as const] : []),
      ...(ofStore.length > 0 ? ['object store' as const] : []),
    ],
    destroyedKeys: missing.filter(hasEnded).map(({ keyId }) => keyId),
  };
}

function lossesOfDatabase({ database, objectStore: { mark } }: Backups): string[] {
  if (mark === undefined) return [];
  const { sealed, hasNewestEntry, keyIds } = database;
  return [
    ...(sealed < mark.sealed
      ? [`the database lacks ${mark.sealed - sealed} of ${mark.sealed} sealed entries`]
      : []),
    ...(hasNewestEntry ? [] : [`the database lacks the sealed entry ${mark.newestEntryId}`]),
    ...mark.keyIds
      .filter((keyId) => !keyIds.has(keyId))
      .map((keyId) => `the database lacks the key ${keyId}`),
  ];
}

function lossesOfToken(
  { database, token, objectStore: { mark } }: Backups,
  missing: readonly KnownKey[],
): string[] {
  const lost = (mark?.keyIds ?? []).filter(
    (keyId) => !token.keyIds.has(keyId) && !database.keyIds.has(keyId),
  );
  return [
    ...missing
      .filter((key) => !hasEnded(key))
      .map(({ keyId, state }) => `the token lacks the ${state} key ${keyId}`),
    ...lost.map((keyId) => `the token lacks the key ${keyId}`),
  ];
}

function lossesOfStore({ database: { newestMark }, objectStore: { mark } }: Backups): string[] {
  if (newestMark <= (mark?.id ?? noMark)) return [];
  const newest =
    mark === undefined ? 'none of this vault' : `${mark.id} of ${mark.writtenAt} at most`;
  return [`the object store lacks the mark ${newestMark} and has ${newest}`];
}

function describeStrange(count: number, newest: string): string {
  return (
    `the database and the token lack the key of all ${count} marks in the object store, ` +
    `of which ${newest} is the newest`
  );
}

function hasEnded({ state }: KnownKey): boolean {
  return state === 'RETIRED' || state === 'COMPROMISED';
}
