import { ApiKey, createApiKey } from '../../internal-api/api-key-format.ts';
import { addApiKey } from '../../internal-api/api-key-file.ts';
import { parseOptions, UsageError, type Command } from '../command.ts';

export const apiKey: Command = {
  usage: `usage: probatio api-key create --name NAME [--admin] [--file FILE]

Creates an internal API key and prints it once: only its hash is stored. Callers of the internal
routes, such as purge and maintenance, send the key in the header X-Internal-Api-Key.

  --name NAME   names the key in the audit log: letters, digits, . _ and -
  --admin       gives the key the right to call the routes; a key without it gets a 403
  --file FILE   adds the hash to this file, which INTERNAL_API_KEYS_FILE names; created if missing.
                Without this option, the line for the array of that file is printed below the key
`,
  async run([verb, ...args]) {
    if (verb !== 'create') throw new UsageError('use: api-key create');
    const {
      name,
      admin = false,
      file,
    } = parseOptions(args, {
      name: { type: 'string' },
      admin: { type: 'boolean' },
      file: { type: 'string' },
    });
    const parsed = ApiKey.shape.name.safeParse(name);
    if (!parsed.success) throw new UsageError('--name must be 1 to 64 letters, digits, . _ or -');
    if (file === '') throw new UsageError('--file must not be empty');
    const { key, kept } = createApiKey({ name: parsed.data, admin });
    if (file === undefined) return `${key}\n${JSON.stringify(kept)}\n`;
    await addApiKey(file, kept);
    return `${key}\n`;
  },
};
