/** Replies with the milliseconds of processor time that one login, or a part of it, costs. */
import { randomBytes } from 'node:crypto';
import { toBigInt } from '../../../app/srp/group.ts';
import { power } from '../../../app/srp/modular-power.ts';
import { createPowers } from '../../../app/srp/powers.ts';
import { answerParent } from '../../support/processes/child.ts';
import { createCpuMeter } from './cpu-meter.ts';
import { openRs256 } from './softhsm-rs256.ts';
import {
  createOwnLogin,
  createSecureRemotePasswordLogin,
  createTssrp6aLogin,
  type MeasuredLogin,
} from './srp-peers.ts';

export interface CostQuestion {
  readonly of: 'reference' | 'ownSrp' | 'secureRemotePassword' | 'tssrp6a';
  readonly times: number;
}

const warmUps = 20;
const base = toBigInt(randomBytes(383));
const exponent = randomBytes(32);
/** Powers on a thread from the start. */
const powers = createPowers({ threads: 1, threadsAfter: 1 });

const logins: Record<CostQuestion['of'], MeasuredLogin> = {
  reference: createReference(),
  ownSrp: await createOwnLogin(powers),
  secureRemotePassword: await createSecureRemotePasswordLogin(),
  tssrp6a: await createTssrp6aLogin(),
};

answerParent(async ({ of, times }: CostQuestion): Promise<number> => {
  for (let run = 0; run < warmUps; run++) await logins[of](createCpuMeter());
  const meter = createCpuMeter();
  for (let run = 0; run < times; run++) await logins[of](meter);
  return meter.ms / times;
});

/**
 * Creates the arithmetic that every login needs: three modular exponentiations and one signature.
 */
function createReference(): MeasuredLogin {
  const sign = openRs256(process.env);
  return (meter) =>
    meter.run(() => {
      for (let turn = 0; turn < 3; turn++) power(base, exponent);
      sign();
    });
}
