import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, timestamp } from '../../columns/columns.ts';
import { ownedByService } from '../../columns/policies.ts';

/** The rows that a walk through the audit log reads: entries, or trails. */
export type WalkName = 'entries' | 'trails';

/** The last walk through the whole log, which the task `verify-log` does in many runs. */
export const LogWalk = defineEntity({
  name: 'LogWalk',
  tableName: 'log_walks',
  rowLevelSecurity: 'force',
  policies: ownedByService('log_walks'),
  checks: [{ name: 'log_walks_name', expression: "name in ('entries', 'trails')" }],
  properties: {
    name: p.text().$type<WalkName>().primary(),
    beganAt: timestamp(),
    /** Number of rows when the walk began. */
    size: p.bigint('number'),
    /** Number of rows that the walk has checked. */
    checked: p.bigint('number'),
    /** The key of the last row that was checked, as JSON; null before the first. */
    place: p.text().nullable(),
    /** When the walk had checked the last row; the next run then begins another walk. */
    endedAt: timestamp().nullable(),
  },
});

/** A number of a trail at which the audit log is not whole. */
export const LogFinding = defineEntity({
  name: 'LogFinding',
  tableName: 'log_findings',
  rowLevelSecurity: 'force',
  policies: ownedByService('log_findings'),
  properties: {
    trailId: p.bigint('number').primary(),
    seq: p.bigint('number').primary(),
    /** `missing`, or what is wrong with the entry. */
    defect: p.text(),
    foundAt: createdAt(),
  },
});
