import { readFileSync } from 'node:fs';
import type { SignerClient } from '../../signer/protocol/client.ts';
import type { Act } from '../audit-trail/act.ts';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../db/database.ts';
import { createRowCipher } from '../encryption/row-cipher.ts';
import { startEncryptionKeys } from '../encryption-keys/encryption-keys.ts';
import { createEscrowKey } from '../encryption-keys/escrow.ts';
import { createGenerations } from '../encryption-keys/generations.ts';
import type { Log } from '../telemetry/log.ts';

interface EncryptionOptions {
  readonly db: Database;
  readonly signer: SignerClient;
  readonly act: Act;
  readonly audit: AuditTrail;
  readonly log: Log;
}

/** Starts the services that encrypt what a password can be guessed from. */
export function startEncryption(config: Config['keys'], options: EncryptionOptions) {
  const { escrowPublicKeyFile: file, recovered = new Map<never, never>() } = config;
  const escrowKey = file === undefined ? undefined : createEscrowKey(readFileSync(file, 'utf8'));
  const encryptionKeys = startEncryptionKeys({ ...options, recovered, escrowKey });
  return {
    cipher: createRowCipher(encryptionKeys),
    encryptionKeys,
    generations: createGenerations({ ...options, encryptionKeys, escrowKey }),
    stop: () => encryptionKeys.stop(),
  };
}
