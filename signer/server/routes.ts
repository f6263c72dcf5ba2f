import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Hsm } from '../hsm/hsm.ts';
import { readBody, sendJson } from './http-json.ts';
import type { KeyDirectory } from '../hsm/key-directory.ts';
import { computeMac } from '../requests/mac.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { answerScrape } from '../protocol/metrics/scrape.ts';
import {
  AdoptionRequest,
  EncryptionKeyRequest,
  KeyRequest,
  MacRequest,
  MarkSealRequest,
  SealRequest,
  TokenRequest,
  type HealthResponse,
} from '../protocol/protocol.ts';
import type { KeyRecordSealer } from '../requests/key-records.ts';
import type { MarkSealer } from '../requests/marks.ts';
import type { Sealer } from '../requests/sealer.ts';
import type { TokenSigner } from '../requests/token-signer.ts';

export interface RouteOptions {
  readonly hsm: Hsm;
  readonly keys: KeyDirectory;
  readonly sealer: Sealer;
  readonly keyRecordSealer: KeyRecordSealer;
  readonly markSealer: MarkSealer;
  readonly tokenSigner: TokenSigner;
  readonly metrics: Metrics;
  /** The URLs of the vaults that the signer serves. */
  readonly issuers: readonly string[];
  readonly clock: () => Date;
}

export type Handler = (req: IncomingMessage, res: ServerResponse) => Promise<void> | void;

/** Creates the handlers by path and method. The server turns their errors into responses. */
export function createRoutes({
  hsm,
  keys,
  sealer,
  keyRecordSealer,
  markSealer,
  tokenSigner,
  metrics,
  issuers,
  clock,
}: RouteOptions): Record<string, Record<string, Handler>> {
  return {
    '/v1/seal': {
      async POST(req, res) {
        const { keyId, entries } = await readBody(req, SealRequest);
        sendJson(res, 200, { results: await sealer(keyId, entries, abortOnClose(res)) });
      },
    },
    '/v1/key-records': {
      async POST(req, res) {
        const { keyId, entries } = await readBody(req, SealRequest);
        sendJson(res, 200, { results: await keyRecordSealer(keyId, entries, abortOnClose(res)) });
      },
    },
    '/v1/marks': {
      async POST(req, res) {
        const { keyId, entry } = await readBody(req, MarkSealRequest);
        sendJson(res, 200, { result: await markSealer(keyId, entry, abortOnClose(res)) });
      },
    },
    '/v1/tokens': {
      async POST(req, res) {
        const request = await readBody(req, TokenRequest);
        sendJson(res, 200, { token: await tokenSigner(request) });
      },
    },
    '/v1/mac': {
      async POST(req, res) {
        const { mac, generation } = await computeMac(hsm, await readBody(req, MacRequest));
        sendJson(res, 200, { mac: mac.toString('base64'), generation });
      },
    },
    '/v1/encryption-keys': {
      async POST(req, res) {
        const { after } = await readBody(req, EncryptionKeyRequest);
        sendJson(res, 200, { generation: await hsm.createEncryptionKey(after) });
      },
    },
    '/v1/keys': {
      async GET(_req, res) {
        sendJson(res, 200, await keys.list());
      },
      async POST(req, res) {
        sendJson(res, 200, { key: await keys.create(await readBody(req, KeyRequest)) });
      },
    },
    '/v1/keys/adopt': {
      async POST(req, res) {
        const { keyId } = await readBody(req, AdoptionRequest);
        sendJson(res, 200, { key: await keys.adopt(keyId) });
      },
    },
    '/health': {
      GET(_req, res) {
        const ready = hsm.state === 'ready';
        const status = ready ? 'ok' : 'error';
        const time = clock().toISOString();
        const health: HealthResponse = { status, token: hsm.state, issuers: [...issuers], time };
        sendJson(res, ready ? 200 : 503, health);
      },
    },
    '/metrics': {
      GET: (req, res) => answerScrape(metrics.registry, req, res),
    },
  };
}

/**
 * Returns a signal that aborts when the client disconnects, so that no signatures are made for a
 * client that cannot receive them.
 */
function abortOnClose(res: ServerResponse): AbortSignal {
  const controller = new AbortController();
  res.once('close', () => controller.abort());
  return controller.signal;
}
