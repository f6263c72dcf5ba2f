import { argon2id as deriveInWebAssembly } from 'hash-wasm';
import { wipe } from '../bytes/bytes.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { KEY_BYTES } from '../crypto/key.ts';

const MEMORY_KIB = 65_536;
const ITERATIONS = 3;
const PARALLELISM = 1;

/**
 * Argon2id version 1.3 at the cost pinned here, so that no answer of a server can weaken it: 32 bytes.
 * @param salt 16 bytes.
 */
export type Argon2id = (password: Uint8Array, salt: Uint8Array) => Promise<Bytes>;

/** Runs everywhere, and holds the thread. */
export const portableArgon2id: Argon2id = async (password, salt) => {
  const key = await deriveInWebAssembly({
    password,
    salt,
    memorySize: MEMORY_KIB,
    iterations: ITERATIONS,
    parallelism: PARALLELISM,
    hashLength: KEY_BYTES,
    outputType: 'binary',
  });
  const copy = new Uint8Array(key);
  wipe(key);
  return copy;
};

/** What node:crypto has from Node 24.7 on. */
interface NodeCrypto {
  argon2?(
    algorithm: 'argon2id',
    parameters: {
      message: Uint8Array;
      nonce: Uint8Array;
      memory: number;
      passes: number;
      parallelism: number;
      tagLength: number;
    },
    callback: (error: Error | null, key: Bytes) => void,
  ): void;
}

/** Node's own, on another thread and in half the time; undefined where there is none. */
export function findNodeArgon2id(): Argon2id | undefined {
  const { process } = globalThis as {
    process?: { getBuiltinModule?(id: string): NodeCrypto | undefined };
  };
  const argon2 = process?.getBuiltinModule?.('node:crypto')?.argon2;
  if (argon2 === undefined) return undefined;
  return (message, nonce) =>
    new Promise((resolve, reject) => {
      const parameters = {
        message,
        nonce,
        memory: MEMORY_KIB,
        passes: ITERATIONS,
        parallelism: PARALLELISM,
        tagLength: KEY_BYTES,
      };
      argon2('argon2id', parameters, (error, key) => {
        if (error === null) resolve(new Uint8Array(key.buffer, key.byteOffset, key.length));
        else reject(error);
      });
    });
}

export const argon2id: Argon2id = findNodeArgon2id() ?? portableArgon2id;
