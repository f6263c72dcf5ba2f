import { ConfigError, loadToolConfig } from './config.ts';
import { listPublicKeys, provision } from './provision.ts';

const USAGE = `usage: node signer/cli.ts <command>

  init   initialise the token and generate the first keys, where missing
  list   print the public keys as JSON, one a line
`;

const commands: Record<string, () => readonly string[]> = {
  init() {
    const done = provision(loadToolConfig(process.env));
    return done.length > 0 ? done : ['nothing to do'];
  },

  list() {
    return listPublicKeys(loadToolConfig(process.env)).map(({ purpose, generation, keyId, spki }) =>
      JSON.stringify({ purpose, generation, keyId, publicKey: spki.toString('base64') }),
    );
  },
};

const [name = '', ...rest] = process.argv.slice(2);
const command = Object.hasOwn(commands, name) && rest.length === 0 ? commands[name] : undefined;
if (!command) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else {
  try {
    for (const line of command()) process.stdout.write(`${line}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigError ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
