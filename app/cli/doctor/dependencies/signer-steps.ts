import type { SignerClient } from '../../../../signer/protocol/client.ts';
import {
  SigningPurpose,
  type PublicKey,
  type TokenState,
} from '../../../../signer/protocol/protocol.ts';
import type { RegisteredKey } from '../../../proof/registered-key.ts';
import { askTime, judgeClock, type StatedTime } from '../steps/clock-difference.ts';
import { strictClock } from './database-steps.ts';
import { fail, ok, warn, type Step, type Verdict } from '../steps/steps.ts';

const of = {
  what: 'the signer',
  address: 'SIGNER_SOCKET_PATH',
  credentials: 'the owner and mode of SIGNER_SOCKET_PATH',
  part: 'socket',
};

interface SignerOptions {
  readonly signer: Pick<SignerClient, 'health' | 'listKeys'>;
  /** The vault's public URL. */
  readonly issuer: string;
  /** Lists the keys of the registry. */
  readonly listRegistered: () => Promise<readonly RegisteredKey[]>;
}

/** Examines the signer, its token, and whether the token holds the keys of the registry. */
export function signerSteps({ signer, issuer, listRegistered }: SignerOptions): readonly Step[] {
  let token: TokenState = 'connecting';
  let issuers: readonly string[] = [];
  let time: StatedTime;
  return [
    {
      name: 'signer.socket',
      of,
      async run() {
        time = await askTime(1, async () => {
          const health = await signer.health();
          ({ token, issuers } = health);
          return new Date(health.time);
        });
        return ok('the signer responds on its socket');
      },
    },
    {
      name: 'signer.issuers',
      needs: ['signer.socket'],
      of,
      run: async () => judgeIssuers(issuers, issuer),
    },
    { name: 'signer.token', needs: ['signer.socket'], of, run: async () => judgeToken(token) },
    {
      name: 'signer.keys',
      needs: ['signer.token', 'database.service', 'database.schema'],
      of,
      run: async () => judgeKeys(await signer.listKeys(), await listRegistered()),
    },
    {
      name: 'signer.clock',
      needs: ['signer.socket'],
      of,
      run: async () => judgeClock('the signer', time, strictClock),
    },
  ];
}

const tokenVerdicts: Readonly<Record<TokenState, Verdict>> = {
  ready: ok('the signer is logged in to the token of the HSM'),
  connecting: fail('the signer has not reached the HSM yet: see its log, and ask again'),
  unavailable: fail('the signer cannot reach the HSM: see its log (docs/signer.md)'),
  keys_missing: fail('the token holds no keys: run signer/cli.ts init, or attach the right token'),
  pin_incorrect: fail('the token refused the PIN: correct it, then restart the signer'),
  stopped: fail('the signer is stopping: start it again'),
};

function judgeIssuers(served: readonly string[], issuer: string): Verdict {
  return served.includes(issuer)
    ? ok('the signer serves this vault')
    : fail(`the signer signs for ${served.join(', ')}: add ${issuer} to its SIGNER_ISSUERS`);
}

function judgeToken(state: TokenState): Verdict {
  return tokenVerdicts[state];
}

function judgeKeys(held: readonly PublicKey[], registered: readonly RegisteredKey[]): Verdict {
  const isHeld = ({ keyId }: { readonly keyId: string }) => held.some((key) => key.keyId === keyId);
  const lost = registered.find((key) => key.state === 'ACTIVE' && !isHeld(key));
  if (lost !== undefined) {
    return fail(`the token lacks the active key ${nameOf(lost)}: attach its token (docs/keys.md)`);
  }
  const without = SigningPurpose.options.find(
    (purpose) => ![...held, ...registered].some((key) => key.purpose === purpose),
  );
  if (without !== undefined) {
    return fail(`the token holds no ${without} key: run signer/cli.ts init`);
  }
  const isKnown = ({ keyId }: PublicKey) => registered.some((key) => key.keyId === keyId);
  const unknown = held.find((key) => !key.contested && !isKnown(key));
  if (unknown !== undefined && registered.length > 0) {
    return warn(
      `the token holds ${nameOf(unknown)}, which is not registered: the app registers it when it ` +
        'starts; if the database was restored, see docs/restore.md first',
    );
  }
  const waiting = registered.find((key) => key.state === 'CREATED' && !isHeld(key));
  return waiting === undefined
    ? ok('the token holds the active keys of the registry')
    : warn(`the token lacks ${nameOf(waiting)}, which was to become active: create another key`);
}

function nameOf({ purpose, generation, keyId }: PublicKey | RegisteredKey): string {
  return `${purpose}-${generation} (${keyId})`;
}
