import type { Clock } from '../async/clock.ts';
import type { EventData } from '../audit-trail/event.ts';
import type { Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import { selectIdentity } from '../identities/identity-rows.ts';
import { isSignedBy } from '../identities/identity-signatures.ts';
import { canonicalText } from '../json/canonical-text.ts';
import { isObject, memberOf, type JsonObject } from '../json/json-values.ts';
import type { AuthorStatement } from './schema.ts';

/** Milliseconds by which the author's clock and the vault's may differ. */
const toleranceMs = 10 * 60_000;
/** The form of `statedAt`: ISO 8601 in UTC with milliseconds. */
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The version of a document that a statement is about. */
export interface StatedVersion {
  /** Id of the user. */
  readonly owner: string;
  readonly documentId: string;
  readonly version: number;
  readonly fileHash: string;
  readonly metadataHash: string;
  readonly contentCommitment: string | null;
}

/** An act on a version, by its audit action. */
export type StatedAct = StatedVersion &
  (
    | { readonly action: 'document.sealed' | 'document.deleted' }
    | {
        readonly action: 'document.shared';
        readonly recipientFingerprint: string | null;
        /** The only version that is shared; null for all of them. */
        readonly sharedVersion: number | null;
      }
    | { readonly action: 'document.unshared'; readonly shareId: string }
  );

/** The members of entries that hold a statement. */
export type Authored = Pick<EventData<'document.sealed'>, 'author'>;

export type Statements = ReturnType<typeof createStatements>;

/** Creates the service that verifies what authors state of their acts. */
export function createStatements({
  issuer,
  clock,
}: {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly clock: Clock;
}) {
  return {
    /**
     * Verifies that a statement says what the caller is doing, within ten minutes of the vault's
     * time, and that the caller's present identity signed it. Returns what the entry of the act has
     * of it: nothing without a statement, and `describe` is not called then. Throws
     * statement_invalid.
     */
    async verify(
      tx: Tx,
      caller: Caller,
      given: AuthorStatement | undefined,
      describe: () => StatedAct | Promise<StatedAct>,
    ): Promise<Authored> {
      if (given === undefined) return {};
      const act = await describe();
      const { statement: text, signature } = given;
      const identity = await selectIdentity(tx, caller).executeTakeFirst();
      if (identity === undefined || identity.wrapped_signing_key === null) {
        throw invalid('statement.publicKey', 'you have no identity that could sign');
      }
      if (act.owner !== caller.userId) {
        throw invalid('statement.owner', 'only owners state what they do with their documents');
      }
      const { signing_key: publicKey, public_key: sharingKey } = identity;
      const stated = parse(text);
      const statedAt = parseInstant(memberOf(stated, 'statedAt'), clock());
      const expected = { v: 1, issuer, ...act, publicKey, statedAt };
      assertSame(stated, expected);
      if (canonicalText(expected) !== text) throw invalid('statement', 'must be canonical JSON');
      if (!isSignedBy(publicKey, 'Service_Author_Statement_v1', { text, signature })) {
        throw invalid('signature', 'must be by `publicKey`, over the label and the statement');
      }
      return { author: { statement: expected, signature, sharingKey } };
    },
  };
}

function parse(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // It is refused below, as any other text that is no object.
  }
  throw invalid('statement', 'must be a JSON object');
}

function parseInstant(statedAt: unknown, now: Date): string {
  const isInstant = typeof statedAt === 'string' && instant.test(statedAt);
  const differenceMs = isInstant ? Math.abs(Date.parse(statedAt) - now.getTime()) : NaN;
  if (!isInstant || !(differenceMs <= toleranceMs)) {
    const message = 'must be within 10 minutes of the time of the vault: check your clock';
    throw invalid('statement.statedAt', message);
  }
  return statedAt;
}

/** Throws statement_invalid unless both have the same members; names each one that differs. */
function assertSame(stated: JsonObject, expected: JsonObject): void {
  const details = Object.keys(expected)
    .filter((name) => memberOf(stated, name) !== expected[name])
    .map((name) => ({ path: `statement.${name}`, message: 'is not what is being done' }));
  const isLonger = Object.keys(stated).some((name) => !Object.hasOwn(expected, name));
  if (isLonger) details.push({ path: 'statement', message: 'has a member that is unknown here' });
  if (details.length > 0) throw new AppError('statement_invalid', { details });
}

function invalid(path: string, message: string): AppError {
  return new AppError('statement_invalid', { details: [{ path, message }] });
}
