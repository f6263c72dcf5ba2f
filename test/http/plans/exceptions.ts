/** Parts of statements that read more than a page, each with the reason. */
const allowed: readonly (readonly [part: RegExp, reason: string])[] = [
  [/from "login_sessions" where "revoked_at" > now\(\)/, 'sessions revoked in twenty minutes'],
  [/from accounts where status = 'PENDING_VALIDATION'/, 'an operator counts the pending accounts'],
  [/from "outbox" where "parked_at" is not null/, 'an operator counts the parked messages'],
  [/from "object_checks".* and "damage" is not null/, 'damaged files are few'],
  [
    /^select count\(\*\) as "count" from "audit_(?:log|trails)"$/,
    'counted as a walk of the log begins, once in some days',
  ],
  [/from audit_dead_letters d join audit_log/, 'dead letters are few'],
  [/from "audit_dead_letters" group by/, 'an operator counts the dead letters, which are few'],
  [/from audit_dead_letters l join audit_log/, 'dead letters are few'],
  [/from "audit_dead_letters" where "status" = /, 'dead letters are few'],
  [/from audit_queue q join audit_log/, 'the backlog of the sealer, which has a limit'],
  [/from object_checks where damage is not null/, 'damaged files are few'],
  [
    /select count\(id\) from jobs\s+where tenant_id = /,
    'the open jobs of a user, which have a limit',
  ],
  [/^select count\("id"\) as "count" from \(select "id" from "jobs"/, 'counted up to a limit'],
  [/from "jobs" where "state" in \('PENDING', 'ACTIVE'\)/, 'an operator counts the open jobs'],
];

/** Returns why a statement may read more than a page; undefined if it may not. */
export function reasonToAllow(text: string): string | undefined {
  return allowed.find(([part]) => part.test(text))?.[1];
}
