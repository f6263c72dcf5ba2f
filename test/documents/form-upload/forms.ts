import { once } from 'node:events';
import {
  request,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { createLayout } from '../../../app/storage/filesystem/layout.ts';
import { manifestName, uploadName } from '../../../app/storage/filesystem/manifest.ts';
import type { Answer, Api } from '../../support/documents/uploads.ts';
import type { Sql } from '../../support/vault/sql.ts';
import { isThere } from '../../support/documents/stored-files.ts';
import type { Vault } from '../../support/vault/vault.ts';
import { documentAt } from '../../support/documents/documents.ts';

const boundary = 'a-boundary-of-a-form';
export const formType = `multipart/form-data; boundary=${boundary}`;

/** A part of a form as it is sent: its headers and its content. */
export type FormPart = readonly [headers: string, content: string | Uint8Array];

const { storagePath: _path, ...fields } = documentAt('');

/** Returns the field `document`. */
export function documentPart(json: unknown = fields): FormPart {
  return ['Content-Disposition: form-data; name="document"', JSON.stringify(json)];
}

/** Returns the part `file`. */
export function filePart(content: string | Uint8Array, fileName = 'evidence.bin'): FormPart {
  const disposition = `Content-Disposition: form-data; name="file"; filename="${fileName}"`;
  return [`${disposition}\r\nContent-Type: application/octet-stream`, content];
}

/** Returns the bytes that precede the content of a part. */
export function partHead([headers]: FormPart): string {
  return `--${boundary}\r\n${headers}\r\n\r\n`;
}

export const formEnd = `\r\n--${boundary}--\r\n`;

export function formOf(...parts: FormPart[]): Buffer<ArrayBuffer> {
  const pieces = parts.flatMap((part) => [partHead(part), part[1], '\r\n']);
  return Buffer.concat(
    [...pieces.slice(0, -1), formEnd].map((piece) =>
      typeof piece === 'string' ? Buffer.from(piece) : piece,
    ),
  );
}

export function sendForm(
  api: Api,
  bytes: Buffer<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const type = { 'content-type': formType, ...headers };
  return api.send('POST', '/v1/documents/upload', { bytes, headers: type });
}

/** A form whose body the test writes at its own pace. */
export interface SlowForm {
  readonly request: ClientRequest;
  /** Rejects if the connection breaks before the response. */
  readonly answer: Promise<{ readonly status: number; readonly body: Record<string, unknown> }>;
}

export function startForm(
  baseUrl: string,
  { token }: Api,
  headers: OutgoingHttpHeaders = {},
): SlowForm {
  const outgoing = request(`${baseUrl}/v1/documents/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': formType, ...headers },
  });
  const answer = (async () => {
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const body = (await json(response)) as Record<string, unknown>;
    return { status: response.statusCode ?? 0, body };
  })();
  outgoing.on('error', () => undefined);
  // A test that breaks the connection does not wait for the response.
  answer.catch(() => undefined);
  outgoing.flushHeaders();
  return { request: outgoing, answer };
}

/** Returns the remains of a user's uploads in the database, and of anyone's in the store. */
export async function findRemains(vault: Vault, sql: Sql, { caller }: Api) {
  const sessions = await sql(
    `select status, count(*)::int as count from upload_sessions
     where user_id = $1 group by status order by status`,
    [caller.userId],
  );
  const documents = await sql('select id from documents where user_id = $1', [caller.userId]);
  const { uploads, objects } = createLayout(vault.storeDirectory);
  return {
    sessions: Object.fromEntries(sessions.map(({ status, count }) => [String(status), count])),
    documents: documents.length,
    uploads: await countStored(uploads, uploadName),
    objects: await countStored(objects, manifestName),
  };
}

/**
 * Counts the directories of a store that do not belong to a mark, judged by the record in
 * them.
 */
async function countStored(directory: string, record: string): Promise<number> {
  const paths = (await readdir(directory)).map((name) => path.join(directory, name));
  const areOthers = await Promise.all(
    paths.map(async (stored) => {
      const text = await readFile(path.join(stored, record), 'utf8').catch(() => undefined);
      // A mark may be completed or removed at this moment, together with its directory.
      return text === undefined ? isThere(stored) : !text.includes('"key":"marks/');
    }),
  );
  return areOthers.filter(Boolean).length;
}
