import type { PublicIdentity } from '../../../app/identities/public-identity.ts';
import type { Owner } from '../../http/roles/scene.ts';
import { withPossession } from '../../support/documents/sharing-keys.ts';
import { membersFor, signStatement } from '../../support/documents/statements.ts';

const path = '/v1/crypto/keys/sharing';

/** The acts that an author may state, by their operation. */
const acts: ReadonlyMap<string, string> = new Map([
  ['certifyDocument', 'document.sealed'],
  ['deleteDocument', 'document.deleted'],
  ['endShare', 'document.unshared'],
]);

/**
 * Returns the body of an operation with what the user has to sign of it: the proof of an identity,
 * or the statement of an act on the document that the parameters name; other bodies unchanged.
 */
export async function signBody(
  operation: string,
  { api }: Owner,
  { body, parameters }: { readonly body: unknown; readonly parameters: Record<string, string> },
): Promise<unknown> {
  const readPresent = () => api.send('GET', path);
  if (operation === 'putSharingKey') return withPossession(api.token, body as object, readPresent);
  const action = acts.get(operation);
  if (action === undefined) return body;
  const identity = (await readPresent()).body as unknown as PublicIdentity;
  const { id = '', shareId } = parameters;
  // An earlier case may have deleted the document.
  if ((await api.send('GET', `/v1/documents/${id}`)).status !== 200) return body;
  const act = { id, action, ...(shareId === undefined ? {} : { shareId }) };
  return signStatement(identity, await membersFor(api, identity, act));
}
