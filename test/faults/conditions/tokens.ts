import { cp, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../../app/dev/processes/until.ts';
import { countOf } from '../../signer/signer-metrics.ts';
import { readMetrics } from '../../support/audit/token-fixture.ts';
import { query } from '../audit/audit-check.ts';
import { rotateAuditKey } from '../audit/key-rotation.ts';
import type { Condition } from './condition.ts';
import type { Stage } from './stage.ts';

const usual = {
  alerts: ['sealing_paused'],
  refusals: ['503 signer_unavailable', '503 proof_not_ready'],
};

const restartSigner = async ({ vault: { signer } }: Stage) => {
  await signer.kill();
  await signer.start();
};

/** Gives the signer another PIN than the token has. */
function wrongPin(): Condition {
  let pin = '';
  return {
    ...usual,
    name: 'the PIN is wrong',
    async begin(stage) {
      const { SIGNER_PIN_FILE } = stage.fixture.environment;
      pin = await readFile(SIGNER_PIN_FILE, 'utf8');
      await writeFile(SIGNER_PIN_FILE, 'not-the-right-pin\n');
      await restartSigner(stage);
    },
    async end(stage) {
      const logins = countOf(await readMetrics(stage.vault.signerSocketPath), 'C_Login');
      if (logins !== 1) throw new Error(`the signer tried the wrong PIN ${logins} times`);
      await writeFile(stage.fixture.environment.SIGNER_PIN_FILE, pin);
      await restartSigner(stage);
      return `C_Login ${logins}`;
    },
    health: ['signer pin_incorrect'],
  };
}

/** Puts the token of before an exchange of the audit key in the place of the present one. */
function restoredToken(): Condition {
  const inside = ({ fixture }: Stage, name: string) => join(fixture.directory, name);

  async function replace(stage: Stage, from: string, to: string): Promise<void> {
    await stage.vault.signer.kill();
    await stage.token.kill();
    await rename(inside(stage, 'tokens'), inside(stage, to));
    await rename(inside(stage, from), inside(stage, 'tokens'));
    await stage.token.start();
    await stage.vault.signer.start();
  }

  return {
    ...usual,
    name: 'the token is restored to before an exchange',
    async begin(stage) {
      await cp(inside(stage, 'tokens'), inside(stage, 'older'), { recursive: true });
      const { vault, internalKey } = stage;
      await rotateAuditKey({ baseUrl: vault.baseUrl, internalKey }, globalThis.fetch);
      const signed = () => query(vault, signedByActiveKey);
      await until(async () => (await signed()).length > 0, {
        what: 'an entry signed by the new key',
        timeoutMs: 60_000,
      });
      await replace(stage, 'older', 'newer');
    },
    async end(stage) {
      const { code, line } = await stage.startAnother();
      if (code !== 78) throw new Error(`a start ended with ${code}: ${line}`);
      await replace(stage, 'newer', 'older');
      const { msg } = JSON.parse(line) as { readonly msg: string };
      return `a further start ended with ${code}: ${msg}`;
    },
    health: [],
  };
}

const signedByActiveKey = `select 1 from audit_entries e join signing_keys k using (key_id)
  where k.state = 'ACTIVE' and e.state = 'SEALED' limit 1`;

export const tokens: readonly Condition[] = [
  {
    ...usual,
    name: 'the HSM is away',
    begin: ({ token }) => token.kill(),
    end: ({ token }) => token.start(),
    health: ['signer hsm_unavailable'],
  },
  {
    ...usual,
    name: 'the HSM is away at the start of signer and app',
    async begin(stage) {
      await stage.token.kill();
      await stage.restart();
    },
    end: ({ token }) => token.start(),
    health: ['signer hsm_unavailable'],
  },
  wrongPin(),
  restoredToken(),
];
