import { primeHex } from '../../srp/group.ts';

/**
 * The parameters by which clients derive a verifier from a password (docs/formats.md, "Keys from a
 * password").
 */
export const srpParams = {
  group: 'rfc5054-3072',
  N: primeHex,
  g: 2,
  hash: 'SHA3-256',
  kdf: {
    name: 'argon2id',
    version: 19,
    memoryKiB: 65_536,
    iterations: 3,
    parallelism: 1,
    outputBytes: 32,
    context: 'Service_SRP_Auth_v1',
  },
} as const;
