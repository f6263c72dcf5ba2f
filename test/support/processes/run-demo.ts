import type { ExecutionContext } from 'ava';
import { runProgram, type Program } from './processes.ts';
import type { TestVault } from '../vault/vault.ts';

export interface DemoOptions {
  /** Where relative paths begin and where `demo-output` comes to be. */
  readonly directory: string;
  readonly args: readonly string[];
  readonly vault: Pick<TestVault, 'baseUrl' | 'mailDirectory'>;
  /** In place of the vault's own. */
  readonly baseUrl?: string;
}

/** `npm run demo -- …`, called in this directory. */
export function startDemo(t: ExecutionContext, options: DemoOptions): Program {
  const { directory, args, vault, baseUrl = vault.baseUrl } = options;
  return runProgram(t, ['client/demo/main.ts', ...args], {
    PROBATIO_URL: baseUrl,
    PROBATIO_MAIL: vault.mailDirectory,
    npm_lifecycle_event: 'demo',
    INIT_CWD: directory,
  });
}

/** Its exit code and all that it printed. */
export async function runDemo(
  t: ExecutionContext,
  options: DemoOptions,
): Promise<{ code: number | null; text: string }> {
  const demo = startDemo(t, options);
  const code = await demo.exitCode;
  return { code, text: demo.lines.join('\n') };
}
