import { hexToBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { z } from 'zod';
import { createLeafCipher } from '../../../client/sync/objects/leaf-encryption.ts';
import { createObjectEncryption } from '../../../client/sync/objects/object-encryption.ts';
import { createStatementEncryption } from '../../../client/sync/statements/statement-encryption.ts';
import { verifyState } from '../../../client/sync/statements/verify-state.ts';
import { noMemory } from '../../support/client/no-memory.ts';
import { readVectors } from '../../support/client/vectors.ts';

const Vector = z.object({
  masterKey: z.string().transform(hexToBytes),
  objectId: z.string(),
  publicFields: z.array(z.string()),
  states: z.array(
    z.object({
      name: z.string(),
      version: z.int(),
      data: z.record(z.string(), z.unknown()),
      believed: z.boolean(),
    }),
  ),
});

const { masterKey, objectId, publicFields, states } = await readVectors('statements.json', Vector);
const cipher = createLeafCipher({ masterKey });
const dependencies = {
  encryption: createObjectEncryption(cipher, { note: publicFields }),
  statements: createStatementEncryption(cipher),
  look: await noMemory.lookAtObjects(),
};
const known = { server: null, sent: undefined, appliedBy: undefined, acceptRestored: false };

for (const { name, version, data, believed } of states) {
  test(`${believed ? 'believed' : 'refused'}: ${name}`, async (t) => {
    const verified = verifyState(dependencies, objectId, { version, data }, known);
    if (believed) t.is((await verified).state.version, version);
    else await t.throwsAsync(verified, { code: 'rolled_back' });
  });
}
