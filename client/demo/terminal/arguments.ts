import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { DemoError } from './demo-error.ts';

export const usageText = `Stores, finds and shares a file in a vault, and verifies its proof:

  npm run demo -- FILE [--out DIR]

Sets MFA up for a new account, with the authenticator app that you have:

  npm run demo -- --mfa

Verifies the folder of an earlier run again, without the vault:

  npm run demo -- --verify DIR [--key FINGERPRINT]

PROBATIO_URL is the URL of the vault (default http://127.0.0.1:8080, where npm start runs it).
PROBATIO_MAIL is the folder to which the vault writes e-mails (default var/mail), or the URL of the
Mailpit that catches them, such as http://127.0.0.1:8025.`;

/** Parsed arguments of the demo; paths are absolute. */
export type DemoArguments =
  | { readonly mode: 'help' }
  | { readonly mode: 'mfa' }
  | { readonly mode: 'store'; readonly file: string; readonly out: string | undefined }
  | {
      readonly mode: 'verify';
      readonly directory: string;
      /** Fingerprint of the key to trust, 32 or 64 hex digits. */
      readonly fingerprint: string | undefined;
    };

/**
 * Parses arguments; relative paths are resolved from `directory`. Throws DemoError for bad usage.
 */
export function parseArguments(args: readonly string[], directory: string): DemoArguments {
  const { values, positionals } = parseOptions(args);
  const { help = false, mfa = false, verify, key, out } = values;
  const [file, ...rest] = positionals;
  if (help) return { mode: 'help' };
  if (mfa) {
    if (args.length > 1) throw new DemoError('--mfa takes nothing else');
    return { mode: 'mfa' };
  }
  if (verify !== undefined) {
    if (positionals.length > 0 || out !== undefined)
      throw new DemoError('--verify takes no FILE or --out');
    const fingerprint = key?.replaceAll(':', '').toLowerCase();
    if (fingerprint !== undefined && !/^(?:[0-9a-f]{32}){1,2}$/.test(fingerprint)) {
      throw new DemoError('--key takes a fingerprint of 32 or 64 hex digits');
    }
    return { mode: 'verify', directory: resolve(directory, verify), fingerprint };
  }
  if (key !== undefined) throw new DemoError('--key needs --verify');
  if (file === undefined) throw new DemoError(`which FILE?\n\n${usageText}`);
  if (rest.length > 0) throw new DemoError('one FILE at a time');
  return {
    mode: 'store',
    file: resolve(directory, file),
    out: out === undefined ? undefined : resolve(directory, out),
  };
}

function parseOptions(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        mfa: { type: 'boolean' },
        verify: { type: 'string' },
        key: { type: 'string' },
        out: { type: 'string' },
      },
    });
  } catch (cause) {
    throw new DemoError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
