/**
 * Runs the demo. `npm run demo -- FILE` does what users do with the vault, from registration to an
 * audit proof that OpenSSL verifies. `npm run demo -- --verify DIR` verifies such a proof again,
 * and `npm run demo -- --mfa` sets MFA up.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArguments, usageText } from './terminal/arguments.ts';
import { explain } from './terminal/explain.ts';
import { readFolderFingerprint } from './proof-folder/proof-folder.ts';
import { createNodeHash } from '../node/hash.ts';
import { createVaultClient } from '../vault.ts';
import { setUpMfa } from './steps/mfa.ts';
import { storeAndProve } from './store-and-prove.ts';
import { requireOpenssl, verifyTwice } from './proof-folder/verification.ts';

const baseUrl = readVariable('PROBATIO_URL') ?? 'http://127.0.0.1:8080';
const mails =
  readVariable('PROBATIO_MAIL') ?? fileURLToPath(new URL('../../var/mail', import.meta.url));
const say = (line: string) => console.log(line);

try {
  const directory = workingDirectory();
  const args = parseArguments(process.argv.slice(2), directory);
  if (args.mode === 'help') say(usageText);
  else if (args.mode === 'mfa') {
    const client = createVaultClient({ baseUrl, createHash: createNodeHash });
    await setUpMfa({ client, mails, say });
  } else if (args.mode === 'verify') await verify(args.directory, args.fingerprint);
  else {
    const outputs = join(directory, 'demo-output');
    await storeAndProve({ ...args, outputs, baseUrl, mails, say });
  }
} catch (error) {
  console.error(`demo: ${explain(error, baseUrl)}`);
  process.exitCode = 1;
}

/** Returns the value of an environment variable, or undefined if it is not set or empty. */
function readVariable(name: string): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}

/**
 * Returns the directory in which the user ran the command. npm runs scripts in the project's
 * directory and passes the user's directory in INIT_CWD.
 */
function workingDirectory(): string {
  const isScript = process.env['npm_lifecycle_event'] === 'demo';
  return (isScript ? readVariable('INIT_CWD') : undefined) ?? process.cwd();
}

/**
 * Verifies the proof in a folder. Without a fingerprint, trusts the key in the folder and prints
 * that its fingerprint must be compared.
 */
async function verify(directory: string, fingerprint: string | undefined): Promise<void> {
  await requireOpenssl();
  const own = await readFolderFingerprint(directory);
  await verifyTwice(directory, [fingerprint ?? own], say);
  if (fingerprint === undefined) {
    say(`the proof is the vault's only if the vault publishes this fingerprint of its key: ${own}`);
  }
}
