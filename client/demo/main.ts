/**
 * `npm run demo -- FILE`: what users do with the vault, from registration to a proof that OpenSSL
 * verifies. `npm run demo -- --verify DIR` checks such a proof again.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArguments, usageText } from './terminal/arguments.ts';
import { explain } from './terminal/explain.ts';
import { readFolderFingerprint } from './proof-folder/proof-folder.ts';
import { storeAndProve } from './store-and-prove.ts';
import { requireOpenssl, verifyTwice } from './proof-folder/verification.ts';

const baseUrl = process.env['PROBATIO_URL'] || 'http://127.0.0.1:8080';
const mailDirectory =
  process.env['PROBATIO_MAIL'] || fileURLToPath(new URL('../../var/mail', import.meta.url));
const say = (line: string) => console.log(line);

try {
  const directory = workingDirectory();
  const args = parseArguments(process.argv.slice(2), directory);
  if (args.mode === 'help') say(usageText);
  else if (args.mode === 'verify') await verify(args.directory, args.fingerprint);
  else {
    const outputs = join(directory, 'demo-output');
    await storeAndProve({ ...args, outputs, baseUrl, mailDirectory, say });
  }
} catch (error) {
  console.error(`demo: ${explain(error, baseUrl)}`);
  process.exitCode = 1;
}

/** npm runs scripts in the project's directory, wherever the user is. */
function workingDirectory(): string {
  const isScript = process.env['npm_lifecycle_event'] === 'demo';
  return (isScript && process.env['INIT_CWD']) || process.cwd();
}

/** Without a fingerprint from elsewhere the key in the folder has to do, and this says so. */
async function verify(directory: string, fingerprint: string | undefined): Promise<void> {
  await requireOpenssl();
  const own = await readFolderFingerprint(directory);
  await verifyTwice(directory, [fingerprint ?? own], say);
  if (fingerprint === undefined) {
    say(`if the vault publishes this fingerprint of its key, the proof is the vault's: ${own}`);
  }
}
