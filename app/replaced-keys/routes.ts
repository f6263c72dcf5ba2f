import { linkNextPage } from '../http/responses/next-page.ts';
import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import type { FreshProofs } from '../sessions/fresh-proof.ts';
import type { ReplacedKeys } from './replaced-keys.ts';
import { ReplacedId, ReplacedList, ReplacedPage, RestoredKey } from './schema.ts';

const tag = 'Keys and devices';
const access = { scopes: ['keys:manage'], orDeveloper: true } as const;
const path = '/v1/crypto/keys/replaced';

interface ReplacedKeyServices {
  readonly replacedKeys: ReplacedKeys;
  readonly freshProofs: FreshProofs;
}

const route = routeFor<ReplacedKeyServices>();

export const replacedKeyRoutes = [
  route({
    method: 'get',
    path,
    operation: 'listReplacedKeys',
    tag,
    summary: 'Lists the envelopes and sharing keys that were replaced in 30 days, newest first',
    access,
    query: ReplacedPage,
    status: 200,
    response: ReplacedList,
    maxAnswerBytes: listBytes,
    noStore: true,
    errors: [],
    handler: async ({ replacedKeys }, { request, query, reply }) => {
      const { keys, cursor } = await replacedKeys.list(request, query);
      linkNextPage(reply, query, cursor);
      return keys;
    },
  }),
  route({
    method: 'post',
    path: `${path}/:id/restore`,
    operation: 'restoreReplacedKey',
    tag,
    summary: 'Puts a replaced key in force again, and keeps the present one in its place',
    access: { ...access, freshProof: 'always' },
    params: ReplacedId,
    status: 200,
    response: RestoredKey,
    noStore: true,
    errors: ['not_found', 'signer_unavailable', 'audit_backlog_full'],
    audit: {
      actions: [
        'envelope.restored',
        'sharing_key.restored',
        'credentials.changed',
        'credentials.removed',
      ],
      note: 'one entry for the key, and one if the recovery words log in otherwise than before',
    },
    handler: async ({ replacedKeys, freshProofs }, { request, http, params }) => {
      const proof = await freshProofs.read(request.caller, http.headers);
      return replacedKeys.restore(request, params.id, proof);
    },
  }),
];
