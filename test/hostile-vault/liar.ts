import type { ExecutionContext } from 'ava';
import type { MasterKeys } from '../../client/keys/master-keys.ts';
import type { MemoryStore } from '../../client/memory/storage/memory-store.ts';
import type { VaultSession } from '../../client/session.ts';
import type { VaultClient, VaultClientOptions } from '../../client/vault.ts';
import { pathOf } from '../support/client/recording-fetch.ts';
import type { OpenAccount } from '../../client/demo/steps/account.ts';
import { storeBytes, toolsOf } from '../support/client/stored.ts';
import { connect, createUser } from '../support/client/user.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';

type Json = Record<string, unknown>;

/** Changes the JSON of a response; a refusal becomes a success. */
type Lie = (body: Json & Json[]) => unknown;

/** A user of a vault that lies as it is told to. */
export interface Victim extends OpenAccount {
  readonly client: VaultClient;
  /** Changes all later responses with JSON to requests whose method and path match. */
  lie(request: RegExp, lie: Lie): void;
  /** Ends all lies. */
  tellTruth(): void;
  /** The parts of the session that storing files, adding versions and downloading need. */
  readonly tools: ReturnType<typeof toolsOf>;
}

/**
 * Creates a user whose client reaches the vault through a liar: requests arrive as they are, and
 * responses are changed on their way back.
 */
export async function createVictim(
  options: Pick<VaultClientOptions, 'trustedKeys'> = {},
): Promise<Victim> {
  const vault = sharedVault();
  const lies: { readonly request: RegExp; readonly lie: Lie }[] = [];
  const lying: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const path = pathOf(input);
    const told = lies.filter(({ request }) => request.test(`${init?.method ?? 'GET'} ${path}`));
    if (told.length === 0 || (!response.ok && response.status !== 404)) return response;
    let body = (await response.json()) as Json & Json[];
    for (const { lie } of told) body = lie(body) as Json & Json[];
    const headers = new Headers(response.headers);
    headers.delete('content-length');
    if (!response.ok) headers.set('etag', '"1"');
    return Response.json(body, { status: response.ok ? response.status : 200, headers });
  };
  const client = connect(vault, lying, options);
  const user = await createUser(vault, client);
  return {
    ...user,
    client,
    tools: toolsOf(user.session),
    lie: (request, lie) => void lies.push({ request, lie }),
    tellTruth: () => void lies.splice(0),
  };
}

/** Asserts that the client finds out, and names what it found. */
export async function assertCaught(
  t: ExecutionContext,
  work: Promise<unknown>,
  code: string,
): Promise<void> {
  await t.throwsAsync(work, { name: 'ClientError', code });
}

/** Logs in again on a device that remembers what is in the store. */
export function logInWith(
  { client, credentials }: Victim,
  memory: MemoryStore,
): Promise<VaultSession> {
  return client.login({ ...credentials, memory });
}

/** Makes a new master key in the victim's session and resolves with all master keys. */
export async function rekey({ session, credentials }: Victim): Promise<MasterKeys> {
  const { password } = credentials;
  const draft = await session.draftRekey({ password, keepPassword: true });
  await draft.confirm(draft.words);
  return session.envelopes.openMasterKeys();
}

/** Stores a document of a friend, who shares it with the victim. */
export async function receiveShare(victim: Victim, friend: Victim, name: string) {
  const { document } = await storeBytes(friend, 10, { name });
  const expected = await victim.session.enableSharing();
  const { email } = victim.credentials;
  const share = await friend.session.shareDocument(document.id, email, expected);
  return { document, share };
}
