import { ApiKey, createApiKey } from '../../internal/api-key.ts';
import { addApiKey } from '../../internal/api-key-file.ts';
import { parseOptions, UsageError, type Command } from '../command.ts';

export const apiKey: Command = {
  usage: `usage: probatio api-key create --name NAME [--admin] [--file FILE]

Makes an internal API key and prints it, once: only its hash is kept. The key itself goes into the
header X-Internal-Api-Key of whoever calls purge and maintenance.

  --name NAME   tells keys apart in the audit log: letters, digits, . _ and -
  --admin       the right to call; without it a key is answered 403
  --file FILE   adds the hash to this file, made if missing: the one INTERNAL_API_KEYS_FILE names.
                Left out, the line to add to that file's array is printed below the key
`,
  async run([verb, ...args]) {
    if (verb !== 'create') throw new UsageError('the one thing to do with keys is: create');
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
    if (file === '') throw new UsageError('--file names no file');
    const { key, kept } = createApiKey({ name: parsed.data, admin });
    if (file === undefined) return `${key}\n${JSON.stringify(kept)}\n`;
    await addApiKey(file, kept);
    return `${key}\n`;
  },
};
