import type { Variables } from '../../../signer/protocol/process/environment.ts';
import { describeMissing } from '../../../signer/protocol/process/parse-settings.ts';
import type { Setting } from './setting.ts';

const others: ReadonlySet<string> = new Set(['development', 'test']);

/** Returns whether the settings are those of a production installation, which is the default. */
export function isProduction({ NODE_ENV: environment = 'production' }: Variables): boolean {
  return !others.has(environment);
}

/** Returns a problem for each of these settings that is not set although production requires it. */
export function findMissing(variables: Variables, settings: readonly Setting[]): readonly string[] {
  if (!isProduction(variables)) return [];
  return settings
    .filter(({ variable }) => variables[variable] === undefined)
    .map(
      ({ variable, schema }) =>
        `${variable}: ${describeMissing(variable, schema)} (production requires it)`,
    );
}
