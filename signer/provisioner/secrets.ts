import { z } from 'zod';
import { ApiServerError, type AskApiServer } from './api-server.ts';

const Secret = z.object({
  metadata: z.object({
    resourceVersion: z.string(),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  data: z.record(z.string(), z.base64()).default({}),
});

/** A Secret as it was read. */
export interface ReadSecret {
  readonly resourceVersion: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly data: ReadonlyMap<string, Buffer>;
}

type Entries = Readonly<Record<string, string | Buffer>>;

export type Secrets = ReturnType<typeof createSecrets>;

interface SecretsOptions {
  readonly ask: AskApiServer;
  readonly namespace: string;
}

/** Creates the access to the Secrets of a namespace. */
export function createSecrets({ ask, namespace }: SecretsOptions) {
  const all = `/api/v1/namespaces/${namespace}/secrets`;

  return {
    /** Reads a Secret; undefined if there is none of this name. */
    async find(name: string): Promise<ReadSecret | undefined> {
      try {
        return toRead(await ask(`${all}/${name}`));
      } catch (error) {
        if (isRefusal(error, 404)) return undefined;
        throw error;
      }
    },

    /** Makes a Secret. Resolves with false, and changes nothing, if there is one of this name. */
    async create(name: string, entries: Entries): Promise<boolean> {
      const labels = {
        'app.kubernetes.io/managed-by': 'probatio-provisioner',
        'app.kubernetes.io/part-of': 'probatio',
      };
      const body = { type: 'Opaque', metadata: { name, labels }, data: encode(entries) };
      try {
        await ask(all, { method: 'POST', body });
        return true;
      } catch (error) {
        if (isRefusal(error, 409)) return false;
        throw error;
      }
    },

    /** Changes entries. Resolves with false if somebody changed the Secret since it was read. */
    async change(
      name: string,
      { resourceVersion }: ReadSecret,
      annotations: Readonly<Record<string, string>>,
      entries: Entries,
    ): Promise<boolean> {
      const body = { metadata: { resourceVersion, annotations }, data: encode(entries) };
      try {
        await ask(`${all}/${name}`, { method: 'PATCH', body });
        return true;
      } catch (error) {
        if (isRefusal(error, 409)) return false;
        throw error;
      }
    },
  };
}

/** Returns an entry of a Secret. Throws if it is missing or empty. */
export function entryOf({ data }: ReadSecret, name: string, entry: string): Buffer {
  const value = data.get(entry);
  if (value !== undefined && value.length > 0) return value;
  throw new Error(`the Secret ${name} lacks the entry ${entry}: restore it from a backup`);
}

function toRead(answer: unknown): ReadSecret {
  const { success, data: secret } = Secret.safeParse(answer);
  // The error of the schema could quote what it found.
  if (!success) throw new Error('the API server answered with something that is no Secret');
  const { metadata, data } = secret;
  return {
    ...metadata,
    data: new Map(
      Object.entries(data).map(([entry, value]) => [entry, Buffer.from(value, 'base64')]),
    ),
  };
}

function encode(entries: Entries): Record<string, string> {
  const encoded = Object.entries(entries).map(([name, value]) => [
    name,
    Buffer.from(value).toString('base64'),
  ]);
  return Object.fromEntries(encoded);
}

function isRefusal(error: unknown, status: number): boolean {
  return error instanceof ApiServerError && error.status === status;
}
