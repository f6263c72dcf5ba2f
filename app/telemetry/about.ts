import { readFileSync } from 'node:fs';

const { version, description } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { readonly version: string; readonly description: string };

/** The name, version and description of this service, as `GET /` returns them. */
export const about = { name: 'probatio', version, description };
