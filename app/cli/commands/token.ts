import { createSignerClient } from '../../../signer/protocol/client.ts';
import { ConfigError } from '../../../signer/protocol/process/config-error.ts';
import { Email } from '../../accounts/email.ts';
import { systemClock } from '../../async/clock.ts';
import { authSettings } from '../../config/settings/auth/auth.ts';
import { signerSettings } from '../../config/settings/backends.ts';
import { requiredPublicUrl } from '../../config/settings/listeners.ts';
import { processSettings } from '../../config/settings/process.ts';
import { createDevelopmentTokens } from '../../sessions/development/tokens.ts';
import { createKeyRegistry } from '../../signing-keys/registry.ts';
import { createAccessTokens } from '../../tokens/access-token.ts';
import { createOwnKeys } from '../../tokens/own-keys.ts';
import { parseOptions, UsageError, type Command } from '../command.ts';
import { withServiceDatabase } from '../service-database.ts';
import { readSettings } from '../variables.ts';

export const token: Command = {
  usage: `usage: probatio token --email E

Prints an access token of an account, for requests by hand. Works in development only: it asks for
no password. The token is valid for 15 minutes, has the rights of the account, and belongs to a
login session that has no device and cannot be refreshed. The account must be active: register it
in the API explorer first. Writes an audit entry.

  --email E    e-mail address of the account

  NODE_ENV                must be development
  DATABASE_SERVICE_URL    database URL with the login of the workers, or the path of a file that
                          holds it in DATABASE_SERVICE_URL_FILE
  SIGNER_SOCKET_PATH      the socket that the signer listens on
  HTTP_PUBLIC_URL         the vault's URL, which is the issuer of the token
  AUTH_AUDIENCE           the audience of the token; probatio unless set
  DATABASE_APP_ROLE       role of the login for users; probatio_app unless set
  DATABASE_SERVICE_ROLE   role of the login for workers; probatio_service unless set
`,
  run: printToken,
};

/** Thrown outside of development, with a message of one line. */
class NotInDevelopment extends ConfigError {
  override message = 'NODE_ENV: is not development, and only there a token needs no password';

  constructor() {
    super([]);
  }
}

async function printToken(args: readonly string[]): Promise<string> {
  const { email: given } = parseOptions(args, { email: { type: 'string' } });
  const { environment } = readSettings({ environment: processSettings.settings.environment });
  if (environment !== 'development') throw new NotInDevelopment();
  const email = Email.safeParse(given);
  if (!email.success) throw new UsageError('--email must be the e-mail address of an account');
  const { socketPath, audience, issuer } = readSettings({
    socketPath: signerSettings.settings.socketPath,
    audience: authSettings.settings.audience,
    issuer: requiredPublicUrl,
  });
  const signer = createSignerClient({ socketPath });
  const clock = systemClock;
  try {
    return await withServiceDatabase(async ({ db, audit }) => {
      const registry = createKeyRegistry({ db, signer, audit, clock });
      const findOwnKey = createOwnKeys({ registry, clock });
      const tokens = createAccessTokens({ issuer, audience, signer, registry, findOwnKey, clock });
      const issued = await createDevelopmentTokens({ db, audit, tokens, clock }).issue(email.data);
      return `${issued}\n`;
    });
  } finally {
    signer.close();
  }
}
