import { createPublicKey, randomUUID, verify } from 'node:crypto';
import { trustKey } from '../../support/accounts/trusted-key.ts';
import { processorMs } from '../../support/processes/process-figures.ts';
import { startVaultProcesses } from '../../support/processes/vault-processes.ts';
import { median, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { sealTexts, type SealedText } from './sealed-texts.ts';

const count = 1_000;
const warmUps = 5;
const rounds = 15;
const auth = { issuer: 'https://vault.test', audience: 'probatio' };

/**
 * Measures entries verified per second by `verify-batch` over HTTP, a thousand a request, against
 * bare `crypto.verify` of the same texts in sequence: without a database, hashes, canonical form or
 * response.
 */
export const benchVerify: Bench = async (progress) => {
  await using stack = await startBenchStack();
  await using vault = await startVaultProcesses(stack, {
    settings: { HTTP_PUBLIC_URL: auth.issuer, AUTH_AUDIENCE: auth.audience },
  });
  const owner = { userId: randomUUID(), tenantId: 'default' };
  const texts = await sealTexts(vault.databases, owner, count);
  const key = await trustKey({ ...vault, config: { auth } });
  const token = await key.sign({ sub: owner.userId });
  const body = JSON.stringify({ ids: texts.map(({ id }) => id) });

  /** Resolves with the milliseconds from the request to the parsed response. */
  const askVault = async () => {
    const startedAt = performance.now();
    const response = await fetch(`${vault.baseUrl}/v1/audit/proof/verify-batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body,
    });
    const answer = (await response.json()) as { readonly valid?: number };
    const ms = performance.now() - startedAt;
    if (answer.valid !== count) throw new Error(JSON.stringify(answer).slice(0, 500));
    return ms;
  };
  const verifyBare = createBareVerifier(texts);

  const found = { ours: [] as number[], reference: [] as number[], cpu: [] as number[] };
  for (let turn = 1 - warmUps; turn <= rounds; turn += 1) {
    const before = processorMs(vault.app.pid);
    const ours = await askVault();
    const cpu = processorMs(vault.app.pid) - before;
    const reference = verifyBare();
    if (turn < 1) continue;
    progress(`round ${turn}: ours ${round(ours, 1)} ms, reference ${round(reference, 1)} ms`);
    found.ours.push(ours);
    found.reference.push(reference);
    found.cpu.push(cpu);
  }

  const ours = (count * 1000) / median(found.ours);
  const reference = (count * 1000) / median(found.reference);
  return {
    ours: round(ours, 0),
    reference: round(reference, 0),
    unit: 'entries/s',
    ratio: round(ours / reference),
    batchMs: round(median(found.ours), 1),
    appCpuMs: round(median(found.cpu), 0),
    rounds,
  };
};

/**
 * Returns a function that verifies all texts and returns the milliseconds it took. It throws if a
 * signature is not valid.
 */
function createBareVerifier(texts: readonly SealedText[]): () => number {
  const ders = new Set(texts.map(({ publicKey }) => publicKey.toString('base64')));
  const [der = '', ...others] = ders;
  if (others.length > 0) throw new Error('the entries were signed by several keys');
  const key = createPublicKey({ key: Buffer.from(der, 'base64'), format: 'der', type: 'spki' });
  return () => {
    const startedAt = performance.now();
    for (const { text, signature } of texts) {
      if (!verify('sha3-256', text, key, signature)) throw new Error('a signature is not valid');
    }
    return performance.now() - startedAt;
  };
}
