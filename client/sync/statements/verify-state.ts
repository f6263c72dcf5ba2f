import { ClientError } from '../../errors/client-error.ts';
import { UnlistedError } from '../../errors/unlisted-error.ts';
import { RolledBackError } from '../../memory/values/rolled-back-error.ts';
import type { ObjectLook } from '../../memory/values/object-look.ts';
import { findOlderDevice, isOlder } from '../../memory/values/object-order.ts';
import type { KnownObject, StatementIds } from '../../memory/values/remembered.ts';
import type { JsonObject } from '../objects/json.ts';
import type { ObjectEncryption } from '../objects/object-encryption.ts';
import { findContradiction, findOlder, findUnlisted, hashesOf, idsOf } from './check-statements.ts';
import type { StatementEncryption } from './statement-encryption.ts';
import { hashLeaf, type Statements } from './statement.ts';
import type { SealedStatements } from '../objects/sealed-statements.ts';
import { findNewest, hashLeaves, splitStatements } from './statements-member.ts';
import type { LocalObjects } from '../stores/local-objects.ts';
import type { ServerState } from '../stores/stored-object.ts';

/** A state of an object as the vault shows it; the data is null if the object is deleted. */
export interface ShownObject {
  readonly version: number;
  /** The object with the statements of the devices. */
  readonly data: JsonObject | null;
  readonly lastModifiedAt?: string;
}

/** The knowledge of a device about an object, with which a shown state is compared. */
export interface Known {
  readonly server: ServerState | null;
  /** The encrypted statement of this device in a request that the vault may have applied. */
  readonly sent: string | undefined;
  /** The device that sent it, if the vault says that it has applied the request. */
  readonly appliedBy: string | undefined;
  /** Whether the user accepts a state that is older than the known one. */
  readonly acceptRestored: boolean;
}

export interface VerifiedState {
  readonly state: ServerState;
  /** Whether the state is older than the known one, and the user accepts it. */
  readonly isRestored: boolean;
}

export interface VerifyDependencies {
  readonly encryption: Pick<ObjectEncryption, 'findPublic'>;
  readonly statements: Pick<StatementEncryption, 'openAll'>;
  readonly look: Pick<ObjectLook, 'listed' | 'known'>;
}

/**
 * Verifies a state of an object that the vault shows; see `verifyState`. With `isApplied`, the
 * vault says that it has applied the request of this device, so the state must have it.
 */
export type Verify = (
  objectId: string,
  shown: ShownObject,
  options?: { readonly isApplied: boolean },
) => Promise<VerifiedState>;

/** Creates the verification against what a device knows of its objects. */
export function createVerify({
  local,
  deviceId,
  acceptRestored,
  ...dependencies
}: VerifyDependencies & {
  readonly local: Pick<LocalObjects, 'find'>;
  readonly deviceId: string;
  readonly acceptRestored: boolean;
}): Verify {
  return (objectId, shown, { isApplied } = { isApplied: false }) => {
    const { server = null, queue: [first] = [] } = local.find(objectId) ?? {};
    const sent = first?.request?.statement?.leaf;
    const appliedBy = isApplied ? deviceId : undefined;
    return verifyState(dependencies, objectId, shown, { server, sent, appliedBy, acceptRestored });
  };
}

/**
 * Verifies that the user's devices and the vault's rules can have made a state of an object, and
 * that it is not older than what is known. Throws RolledBackError if they cannot, or if it is
 * older; object_unlisted if somebody who has only an earlier master key can have made it; and
 * invalid_leaf.
 */
export async function verifyState(
  dependencies: VerifyDependencies,
  objectId: string,
  shown: ShownObject,
  known: Known,
): Promise<VerifiedState> {
  const state = toServerState(shown);
  const newer = findNewer(state, known);
  if (newer !== undefined) return { state: newer, isRestored: false };
  const assertNone = (fault: string | undefined) => {
    if (fault !== undefined) throw rolledBack(objectId, known.server, fault);
  };
  assertNone(findLoss(state, known));
  const { acceptRestored } = known;
  const regress = findRegress(state, known.server);
  if (!acceptRestored) assertNone(regress);
  if (state.data === null) return { state, isRestored: regress !== undefined };

  const { openAll } = dependencies.statements;
  const { look } = dependencies;
  const statements = await openAll(objectId, state.statements);
  const isPublic = await dependencies.encryption.findPublic(objectId, state.data);
  const leaves = hashLeaves(state.data, isPublic);
  assertNone(findContradiction({ version: state.version, leaves, statements }));

  const listed = look.listed(objectId);
  assertNone(findOlder(statements, listed ?? {}));
  if (listed !== undefined) assertListed(objectId, statements, listed, known);

  const replaced = await openAll(objectId, findReplaced(state, known.server));
  const older = findOlder(statements, idsOf(replaced));
  if (!acceptRestored) assertNone(older);
  const ids = idsOf(statements);
  const newest = findNewerThan(ids, look.known(objectId));
  if (!acceptRestored && newest !== undefined) throw olderThan(newest, objectId, ids);
  const isRestored = [regress, older, newest].some((fault) => fault !== undefined);
  return { state, isRestored };
}

/**
 * Returns whether an error says that one object is not believed, so that others can still be
 * synchronised.
 */
export function isUnbelieved(error: unknown): boolean {
  if (error instanceof RolledBackError) return error.subject === 'object' && error.id !== undefined;
  const codes: unknown[] = ['object_unlisted', 'invalid_leaf'];
  return error instanceof ClientError && codes.includes(error.code);
}

function toServerState({ data, ...shown }: ShownObject): ServerState {
  return { ...shown, ...(data === null ? { data, statements: {} } : splitStatements(data)) };
}

/** Returns the error that describes a fault of a state that the vault showed. */
export function rolledBack(
  objectId: string,
  server: Known['server'],
  shown: string,
): RolledBackError {
  const remembered = server === null ? 'no version' : describe(server);
  return new RolledBackError({ subject: 'object', id: objectId, remembered, shown });
}

/** Returns a known state of an object of which the vault shows an older one, if there is one. */
export function findNewerThan(
  shown: StatementIds,
  known: readonly KnownObject[],
): KnownObject | undefined {
  return known.find((seen) => isOlder({ statements: shown }, seen));
}

/** Returns the error that describes a state that is older than one that a device has seen. */
export function olderThan(
  known: KnownObject,
  objectId: string,
  shown: StatementIds,
): RolledBackError {
  const { statements, deleted = false, toldBy } = known;
  const device = findOlderDevice(shown, statements) ?? '';
  const writeIn = (ids: StatementIds) => `write ${ids[device]?.[0] ?? 0} of device ${device}`;
  return new RolledBackError({
    subject: 'object',
    id: objectId,
    remembered: deleted ? 'deleted' : writeIn(statements),
    shown: deleted ? 'not deleted' : writeIn(shown),
    ...(toldBy !== undefined && { toldBy }),
  });
}

function describe({ version, data }: ServerState): string {
  return data === null ? `version ${version}, deleted` : `version ${version}`;
}

/** Finds out whether the vault dropped a write that it applied. */
function findLoss(state: ServerState, { sent, appliedBy }: Known): string | undefined {
  if (appliedBy === undefined || sent === undefined || state.data === null) return undefined;
  if (leafOf(state.statements, appliedBy) === sent) return undefined;
  return `${describe(state)} without the last write of this device`;
}

/**
 * Returns the known state if it is newer than the one in the response to a write, and has that
 * write: the vault may repeat an earlier response.
 */
function findNewer(
  { version }: ServerState,
  { server, sent, appliedBy }: Known,
): ServerState | undefined {
  if (appliedBy === undefined || server === null || server.version <= version) return undefined;
  const hasWrite =
    server.data === null || (sent !== undefined && leafOf(server.statements, appliedBy) === sent);
  return hasWrite ? server : undefined;
}

/** Finds out by its version whether a state is older than the known one, or replaces it. */
function findRegress(state: ServerState, server: Known['server']): string | undefined {
  if (server === null) return undefined;
  if (state.version < server.version) return describe(state);
  if (server.data === null && state.data !== null) return `${describe(state)}, not deleted`;
  if (state.version > server.version) return undefined;
  const isSame =
    (state.data === null) === (server.data === null) &&
    Object.keys(state.statements).length === Object.keys(server.statements).length &&
    Object.keys(findReplaced(state, server)).length === 0;
  return isSame ? undefined : `another ${describe(state)}`;
}

/** Returns the known statements that a state does not show. */
function findReplaced({ statements }: ServerState, server: Known['server']): SealedStatements {
  const known = server?.statements ?? {};
  const replaced = Object.entries(known).filter(
    ([device]) => leafOf(statements, device) !== leafOf(known, device),
  );
  return Object.fromEntries(replaced);
}

function assertListed(
  objectId: string,
  statements: Statements,
  listed: StatementIds,
  { server, sent }: Known,
): void {
  const trusted = hashesOf(listed);
  for (const { leaf } of findNewest(server?.statements ?? {}).values()) trusted.add(hashLeaf(leaf));
  if (sent !== undefined) trusted.add(hashLeaf(sent));
  if (findUnlisted(statements, trusted) !== undefined) throw new UnlistedError('object', objectId);
}

function leafOf(statements: SealedStatements, device: string): string | undefined {
  return findNewest(statements).get(device)?.leaf;
}
