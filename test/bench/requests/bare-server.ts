/**
 * Serves recorded requests by bare Koa: it reads the body, checks the token, sends the same
 * statements, prepared and without waiting within a transaction, asks the signer the same, does the
 * same powers and hashes, and answers the same JSON.
 */
import { createHash, createPublicKey, randomBytes, randomUUID, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { Agent, createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { deserialize } from 'node:v8';
import { jwtVerify } from 'jose';
import Koa from 'koa';
import { Client } from 'pg';
import { toBigInt } from '../../../app/srp/group.ts';
import { createPowers } from '../../../app/srp/powers.ts';
import { answerParent } from '../../support/processes/child.ts';
import { replayHeader, type Replay, type Transaction } from './replay.ts';

/** Where the bare server finds everything. */
export interface BareSettings {
  /** The file with the recorded requests. */
  readonly replays: string;
  /** URLs of the database as it was before the requests were recorded, by login. */
  readonly urls: Readonly<Record<string, string>>;
  readonly signerSocketPath: string;
  /** The PEM of the key of access tokens. */
  readonly tokenKey: string;
  readonly audience: string;
  /** The directory in which the bodies of uploads are stored. */
  readonly directory: string;
}

const agent = new Agent({ keepAlive: true });
const powers = createPowers({ threads: 1, threadsAfter: 1 });
const [base, exponent] = [toBigInt(randomBytes(383)), randomBytes(32)];

answerParent((settings: BareSettings) => serve(settings));

/** Returns the URL of the server. */
async function serve(settings: BareSettings): Promise<string> {
  const replays = deserialize(await readFile(settings.replays)) as readonly Replay[];
  const key = createPublicKey(settings.tokenKey);
  const clients = new Map<string, Client>();
  for (const [login, connectionString] of Object.entries(settings.urls)) {
    const client = new Client({ connectionString, pipeline: true });
    await client.connect();
    clients.set(login, client);
  }
  const koa = new Koa();
  koa.use(async (ctx) => {
    const replay = replays[Number(ctx.get(replayHeader))];
    if (replay === undefined) throw new Error('an unknown replay');
    const { transactions, signer } = replay;
    await checkToken(ctx.get('authorization'), key, settings.audience);
    if (typeof ctx.is('json') === 'string') JSON.parse(await text(ctx.req));
    else if (typeof ctx.is('application/octet-stream') === 'string')
      await store(ctx.req, settings.directory);
    for (let power = 0; power < replay.powers; power += 1) await powers.power(base, exponent);
    for (const transaction of transactions) await run(clients, transaction);
    for (const sent of signer) await ask(settings.signerSocketPath, sent);
    ctx.status = replay.answer.status;
    ctx.body = replay.answer.body;
  });
  const answer = koa.callback();
  const server = createServer((req, res) => void answer(req, res)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function checkToken(header: string, key: KeyObject, audience: string): Promise<void> {
  const [, token] = header.split(' ');
  if (token !== undefined) await jwtVerify(token, key, { audience, typ: 'at+jwt' });
}

async function run(
  clients: ReadonlyMap<string, Client>,
  { login, statements }: Transaction,
): Promise<void> {
  const client = clients.get(login);
  if (client === undefined) throw new Error(`no client for ${login}`);
  await Promise.all(
    statements.map(({ text: sql, values }) =>
      values.length === 0
        ? client.query(sql)
        : client.query({ name: nameOf(sql), text: sql, values: [...values] }),
    ),
  );
}

const names = new Map<string, string>();

function nameOf(sql: string): string {
  const name = names.get(sql) ?? `s${names.size}`;
  names.set(sql, name);
  return name;
}

async function ask(socketPath: string, sent: Replay['signer'][number]): Promise<void> {
  const { method, path, body } = sent;
  const headers =
    body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const outgoing = request({ agent, socketPath, method, path, headers }).end(body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  JSON.parse(await text(response));
  if (response.statusCode !== 200) throw new Error(`the signer answered ${response.statusCode}`);
}

/** Hashes the body as the app does, and writes it to the disk. */
async function store(body: IncomingMessage, directory: string): Promise<void> {
  const bytes = await buffer(body);
  createHash('sha3-256').update(bytes).digest();
  createHash('sha256').update(bytes).digest();
  const file = await open(join(directory, randomUUID()), 'wx');
  await file.write(bytes);
  await file.datasync();
  await file.close();
}
