import type { ExecutionContext } from 'ava';
import { runProgram, type Program } from './processes.ts';
import type { Vault } from '../vault/vault.ts';

export interface DemoOptions {
  /** The working directory, in which `demo-output` is created. */
  readonly directory: string;
  readonly args: readonly string[];
  readonly vault: Pick<Vault, 'baseUrl' | 'mailDirectory'>;
  /** URL of a Mailpit to use instead of the vault's own folder of e-mails. */
  readonly mailpit?: string;
  /** URL to use instead of the vault's own. */
  readonly baseUrl?: string;
  /** Path of a file with further authorities as PEM. */
  readonly authorities?: string;
}

/** Starts `npm run demo -- …` in a directory. */
export function startDemo(t: ExecutionContext, options: DemoOptions): Program {
  const { directory, args, vault, baseUrl = vault.baseUrl, mailpit, authorities } = options;
  return runProgram(t, ['client/demo/main.ts', ...args], {
    PROBATIO_URL: baseUrl,
    PROBATIO_MAIL: mailpit ?? vault.mailDirectory,
    npm_lifecycle_event: 'demo',
    INIT_CWD: directory,
    ...(authorities === undefined ? {} : { NODE_EXTRA_CA_CERTS: authorities }),
  });
}

/** Runs the demo. Resolves with its exit code and output. */
export async function runDemo(
  t: ExecutionContext,
  options: DemoOptions,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const demo = startDemo(t, options);
  const code = await demo.exitCode;
  return { code, text: demo.lines.join('\n') };
}
