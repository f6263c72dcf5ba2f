/**
 * Records, in the app's process, what it sends to Postgres and to the signer. SIGUSR2 begins to
 * record; the next one ends it and writes what was sent in between. Either makes the file
 * RECORDED_SENDS.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { ClientRequest } from 'node:http';
import { serialize } from 'node:v8';
import { Client } from 'pg';

/** A statement, in the order in which its connection sent it. */
export interface SentStatement {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly login: string;
  /** Number of the connection in its process. */
  readonly connection: number;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A request to the signer. */
export interface SignerRequest {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
}

export interface Sends {
  readonly statements: readonly SentStatement[];
  readonly signer: readonly SignerRequest[];
}

const file = process.env['RECORDED_SENDS'] ?? '';
let isRecording = false;
let statements: SentStatement[] = [];
let signer: SignerRequest[] = [];
const connections = new WeakMap<Client, number>();
let lastConnection = 0;

const now = () => performance.timeOrigin + performance.now();

const query = Reflect.get(Client.prototype, 'query') as unknown as () => unknown;
Reflect.set(Client.prototype, 'query', function send(this: Client, ...args: unknown[]): unknown {
  if (isRecording) {
    const [statement, values] = args as [string | { readonly text: string }, unknown[]?];
    const connection = connections.get(this) ?? (lastConnection += 1);
    connections.set(this, connection);
    statements.push({
      at: now(),
      login: this.user ?? '',
      connection,
      text: typeof statement === 'string' ? statement : statement.text,
      values: values ?? [],
    });
  }
  return Reflect.apply(query, this, args);
});

const end = Reflect.get(ClientRequest.prototype, 'end') as unknown as () => unknown;
Reflect.set(
  ClientRequest.prototype,
  'end',
  function send(this: ClientRequest, ...args: unknown[]): unknown {
    const [body] = args;
    if (isRecording) {
      signer.push({
        at: now(),
        method: this.method,
        path: this.path,
        body: typeof body === 'string' ? body : undefined,
      });
    }
    return Reflect.apply(end, this, args);
  },
);

process.on('SIGUSR2', () => {
  isRecording = !isRecording;
  writeFileSync(`${file}.part`, serialize({ statements, signer } satisfies Sends));
  renameSync(`${file}.part`, file);
  [statements, signer] = [[], []];
});
