import { until } from '../../app/dev/until.ts';
import { startVault, type TestVault } from '../vault.ts';

/** A vault that has its keys from the signer and takes every request. */
export async function startReadyVault(settings: NodeJS.ProcessEnv = {}): Promise<TestVault> {
  const vault = await startVault(settings);
  await untilReady(vault.baseUrl);
  return vault;
}

export async function untilReady(baseUrl: string): Promise<void> {
  const isReady = async () => (await fetch(`${baseUrl}/health/ready`)).ok;
  await until(() => isReady().catch(() => false), {
    what: 'the vault to be ready',
    timeoutMs: 30_000,
  });
}
