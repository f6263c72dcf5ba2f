import type { Api } from '../../support/documents/uploads.ts';
import { askThrough, type CountingProxy, type Plan, type Seen } from './counting-proxy.ts';

/** A document, and what a request for its file should get. */
export interface Asked {
  readonly documentId: string;
  readonly reader: Api;
  /** Bytes that the request asks for. */
  readonly bytes: number;
  /** First byte of a range; without it the whole file is asked for. */
  readonly first?: number;
  readonly plan?: Plan;
}

/** A request for a file, and what became of it. */
export interface Reading {
  readonly asked: Asked;
  readonly seen: Seen;
  /** When the reader first asked for these bytes: before `beganAt` if nobody answered at first. */
  readonly triedAt: number;
  readonly beganAt: number;
  readonly endedAt: number;
}

/** Asks for a file once. `triedAt` is when the reader first asked for it, by default now. */
export async function read(
  proxy: CountingProxy,
  asked: Asked,
  triedAt = performance.now(),
): Promise<Reading> {
  const { documentId, reader, bytes, first, plan = {} } = asked;
  const beganAt = performance.now();
  const range = first === undefined ? [] : [`Range: bytes=${first}-${first + bytes - 1}`];
  const request = [
    `GET /v1/documents/${documentId}/download HTTP/1.1`,
    'Host: vault.test',
    'Connection: close',
    `Authorization: Bearer ${reader.token}`,
    ...range,
  ];
  const seen = await askThrough(proxy, request, plan);
  return { asked, seen, triedAt, beganAt, endedAt: performance.now() };
}
