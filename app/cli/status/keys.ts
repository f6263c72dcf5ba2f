import { sharedThresholds } from '../../telemetry/thresholds.ts';
import type { Key, SignerAnswer } from './answers.ts';
import { look, runbook, well, type Finding } from './finding.ts';
import { count, durationOf, moment, secondsBetween } from './times.ts';

const { signingKeyAgeSeconds } = sharedThresholds;
const purposes = ['audit', 'token'] as const;

/** Returns a finding for the keys of each purpose. */
export function findKeys(keys: readonly Key[], now: Date): readonly Finding[] {
  return purposes.map((purpose) => {
    const ofPurpose = keys.filter((key) => key.purpose === purpose);
    const active = ofPurpose.find(({ state }) => state === 'ACTIVE');
    const name = `key ${purpose}`;
    if (active === undefined) {
      return look(name, `none of ${count(ofPurpose.length, 'key')} is active`, 'see docs/keys.md');
    }
    const { generation, keyId, activatedAt, registeredAt } = active;
    const since = activatedAt ?? registeredAt;
    const text = [
      `${purpose}-${generation} (${keyId}) is active since ${moment(since, now)}`,
      ...countOthers(ofPurpose),
    ].join('; ');
    if (secondsBetween(since, now) <= signingKeyAgeSeconds) return well(name, text);
    const limit = durationOf(signingKeyAgeSeconds);
    return look(name, `rotate it after ${limit}: ${text}`, runbook('RotationOverdue'));
  });
}

function countOthers(keys: readonly Key[]): readonly string[] {
  const states = Map.groupBy(keys, ({ state }) => state);
  states.delete('ACTIVE');
  return [...states].map(([state, ofState]) => `${ofState.length} ${state.toLowerCase()}`);
}

/** Returns the finding about the token behind the process that answered. */
export function findToken({ tokenState, keyIds }: SignerAnswer, keys: readonly Key[]): Finding {
  const name = 'signer';
  if (tokenState !== 'ready') {
    return look(name, `the token of the HSM is ${tokenState}`, runbook('SignerDown'));
  }
  if (keyIds === null) {
    return look(name, 'the keys of the token cannot be read', runbook('SignerDown'));
  }
  const held = new Set(keyIds);
  const lacking = keys.filter(({ state, keyId }) => state === 'ACTIVE' && !held.has(keyId));
  if (lacking.length > 0) {
    const names = lacking.map(({ purpose, generation }) => `${purpose}-${generation}`);
    return look(
      name,
      `the token lacks the active keys ${names.join(', ')}`,
      'see docs/keys.md#when-the-active-audit-key-is-lost',
    );
  }
  return well(name, `the token of the HSM is ready and holds ${count(held.size, 'signing key')}`);
}
