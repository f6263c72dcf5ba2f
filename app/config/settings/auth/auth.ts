import { z } from 'zod';
import type { Variables } from '../../../../signer/protocol/process/environment.ts';
import { readIssuers, type IssuerConfig } from '../../../tokens/external-issuers/config.ts';
import { Text } from '../../definition/forms.ts';
import { defaultPublicUrl } from '../listeners.ts';
import { setting } from '../../definition/setting.ts';

/** Settings of logins and of the tokens that the API accepts. */
export const authSettings = {
  title: 'Authentication',
  settings: {
    audience: setting('AUTH_AUDIENCE', Text.default('probatio'), {
      form: 'text',
      description: 'The audience (`aud`) of the access tokens.',
    }),
    issuersFile: setting('AUTH_ISSUERS_FILE', Text.optional(), {
      form: 'path of a JSON file',
      whenUnset: 'no other issuers',
      description:
        'Other issuers whose access tokens are accepted ' +
        '([accounts.md](accounts.md#other-issuers)). Each of them can act as any of its users: ' +
        'list only issuers that you trust with that. The file is read once, at the start.',
    }),
    unknownUser: setting('AUTH_UNKNOWN_USER', z.enum(['reveal', 'decoy']).default('reveal'), {
      description:
        'How a login with an e-mail address that has no account is answered. `decoy` answers as ' +
        'if there were an account and fails at the password proof. `reveal` answers ' +
        '`user_not_found`, which weakens security: anyone can find out who has an account. ' +
        'With `decoy` clients must register salts of 32 bytes.',
    }),
    reauthPassword: setting('AUTH_REAUTH_PASSWORD', z.enum(['allow', 'refuse']).default('allow'), {
      description:
        'Whether `/auth/reauth` accepts the password itself beside the SRP proof. `allow` ' +
        'weakens security: the service then sees the password of clients that use this form. ' +
        'Set `refuse` unless a client of yours needs it.',
    }),
  },
};

/** Reads the issuers whose tokens are accepted beside our own, and the problems of their file. */
export function readTrustedIssuers(variables: Variables): {
  readonly issuers: readonly IssuerConfig[];
  readonly problems: readonly string[];
} {
  const { AUTH_ISSUERS_FILE: file, HTTP_PUBLIC_URL: ownIssuer = defaultPublicUrl } = variables;
  if (file === undefined) return { issuers: [], problems: [] };
  const { issuers, problems } = readIssuers(file, ownIssuer);
  return { issuers, problems: problems.map((problem) => `AUTH_ISSUERS_FILE: ${problem}`) };
}
