import { argon2id as deriveInWebAssembly } from 'hash-wasm';
import { wipe, type Bytes } from '../bytes/bytes.ts';
import { keyBytes } from '../crypto/key.ts';

const argon2MemoryKiB = 65_536;
const argon2Iterations = 3;
const argon2Parallelism = 1;

/**
 * Computes Argon2id version 1.3 and resolves with 32 bytes. The cost parameters are fixed in this
 * file, so that no response of a server can weaken them.
 * @param salt 16 bytes.
 */
export type Argon2id = (password: Uint8Array, salt: Uint8Array) => Promise<Bytes>;

/** Computes Argon2id in WebAssembly, which runs on every platform but blocks the thread. */
export const portableArgon2id: Argon2id = async (password, salt) => {
  const key = await deriveInWebAssembly({
    password,
    salt,
    memorySize: argon2MemoryKiB,
    iterations: argon2Iterations,
    parallelism: argon2Parallelism,
    hashLength: keyBytes,
    outputType: 'binary',
  });
  const copy = new Uint8Array(key);
  wipe(key);
  return copy;
};

/** The part of node:crypto that is used here. `argon2` exists from Node 24.7 on. */
interface NodeCrypto {
  argon2?(
    algorithm: 'argon2id',
    parameters: {
      readonly message: Uint8Array;
      readonly nonce: Uint8Array;
      readonly memory: number;
      readonly passes: number;
      readonly parallelism: number;
      readonly tagLength: number;
    },
    callback: (error: Error | null, key: Bytes) => void,
  ): void;
}

/**
 * Returns Node's own Argon2id, which runs on another thread in half the time. Returns undefined on
 * platforms without it.
 */
export function findNodeArgon2id(): Argon2id | undefined {
  const { process } = globalThis as {
    readonly process?: { getBuiltinModule?(id: string): NodeCrypto | undefined };
  };
  const argon2 = process?.getBuiltinModule?.('node:crypto')?.argon2;
  if (argon2 === undefined) return undefined;
  return (message, nonce) =>
    new Promise((resolve, reject) => {
      const parameters = {
        message,
        nonce,
        memory: argon2MemoryKiB,
        passes: argon2Iterations,
        parallelism: argon2Parallelism,
        tagLength: keyBytes,
      };
      argon2('argon2id', parameters, (error, key) => {
        if (error === null) resolve(new Uint8Array(key.buffer, key.byteOffset, key.length));
        else reject(error);
      });
    });
}

export const argon2id: Argon2id = findNodeArgon2id() ?? portableArgon2id;
