import { randomUUID } from 'node:crypto';
import { maxPipelined } from '../../../app/http/server/pipelining.ts';
import { documentPart, filePart, formOf, formType } from '../../documents/form-upload/forms.ts';
import { change } from '../../support/sync/devices.ts';
import type { Attacker } from './attacker.ts';
import { largeData, someLeaf } from './large-object.ts';

interface Attack {
  readonly name: string;
  /** Runs until the attacker is told to stop. */
  run(attacker: Attacker): Promise<void>;
}

const text = 'x'.repeat(850_000);
/** As many requests as a connection may send ahead. */
const pipelined = maxPipelined + 1;
const host = 'Host: vault.test\r\n';

/** Returns the head of a request with the attacker's access token. */
function headOf(line: string, { headers }: Attacker, more = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${host}${lines.join('')}${more}\r\n`;
}

/** The attacks of one account, each of which once slowed or stopped the vault for everybody. */
export const attacks: readonly Attack[] = [
  {
    name: 'many lists at once',
    run: (attacker) =>
      attacker.flood(300, (sender) => sender.send('GET', '/v1/documents?limit=1000')),
  },
  {
    name: 'histories of a large object',
    run: (attacker) =>
      attacker.flood(20, (sender) =>
        sender.send('GET', `/v1/sync/${attacker.objectId}/history?limit=1000`),
      ),
  },
  {
    name: 'exports of a large object',
    run: (attacker) =>
      attacker.flood(20, (sender) => sender.send('GET', `/v1/sync/${attacker.objectId}/export`)),
  },
  {
    name: 'large changes',
    run: (attacker) =>
      attacker.flood(64, (sender) =>
        sender.send('POST', '/v1/sync/create', {
          body: { data: largeData, objectId: randomUUID() },
        }),
      ),
  },
  {
    name: 'large changes in conflict',
    run: (attacker) => {
      const delta = Object.fromEntries(Object.keys(largeData).map((leaf) => [leaf, -1]));
      return attacker.flood(64, (sender) =>
        sender.send('POST', '/v1/sync', { body: change(attacker.objectId, 1, delta) }),
      );
    },
  },
  {
    name: 'large bodies without an access token',
    run: (attacker) =>
      attacker.flood(64, (sender) =>
        sender.send('POST', '/v1/auth/login/challenge', {
          body: { email: 'a@b.example', A: text },
          headers: { authorization: '' },
        }),
      ),
  },
  {
    name: 'large fields of forms',
    run: (attacker) => {
      const form = formOf(documentPart({ encryptedMetadata: text }), filePart('x'));
      return attacker.flood(64, (sender) =>
        sender.send('POST', '/v1/documents/upload', {
          body: form,
          headers: { 'content-type': formType },
        }),
      );
    },
  },
  {
    name: 'begun uploads',
    run: (attacker) =>
      attacker.flood(40, (sender) =>
        sender.send('POST', '/v1/uploads', {
          body: {
            fileName: 'a.bin',
            fileSize: 1,
            mimeType: 'application/octet-stream',
            totalParts: 1,
          },
        }),
      ),
  },
  {
    name: 'small writes, each with a kept answer',
    run: (attacker) =>
      attacker.flood(50, (sender) =>
        sender.send('POST', '/v1/sync/create', {
          body: { objectId: randomUUID(), data: { a: 1 } },
          headers: { 'x-sync-request-id': randomUUID() },
        }),
      ),
  },
  {
    name: 'passwords',
    run: (attacker) =>
      attacker.flood(50, (sender) =>
        sender.send('POST', '/v1/auth/reauth', { body: { password: 'a wrong password' } }),
      ),
  },
  {
    name: 'wrong access tokens',
    run: (attacker) =>
      attacker.flood(300, (sender) =>
        sender.send('GET', '/v1/documents', { headers: { authorization: 'Bearer a.b.c' } }),
      ),
  },
  {
    name: 'slow heads',
    run: (attacker) => attacker.hold(2_000, `GET /v1/documents HTTP/1.1\r\n${host}X-Slow: `, 'x'),
  },
  {
    name: 'slow bodies',
    run: (attacker) =>
      attacker.hold(
        2_000,
        headOf(
          'POST /v1/sync/create',
          attacker,
          'Content-Type: application/json\r\nContent-Length: 10000\r\n',
        ),
        '{',
      ),
  },
  {
    name: 'slow bodies without an access token',
    run: (attacker) =>
      attacker.hold(
        2_000,
        `POST /v1/auth/login/challenge HTTP/1.1\r\n${host}` +
          'Content-Type: application/json\r\nContent-Length: 10000\r\n\r\n',
        '{',
      ),
  },
  {
    name: 'conflicts that are not read',
    run: (attacker) => {
      const body = JSON.stringify(change(attacker.objectId, 1, { [someLeaf]: -1 }));
      const lines = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
      const sent = headOf('POST /v1/sync', attacker, lines) + body;
      return attacker.hold(2_000, sent.repeat(pipelined));
    },
  },
  {
    name: 'responses that are not read',
    run: (attacker) =>
      attacker.hold(2_000, headOf(`GET /v1/sync/${attacker.objectId}`, attacker).repeat(pipelined)),
  },
];
