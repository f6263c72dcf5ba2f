import { sharedThresholds } from '../../telemetry/thresholds.ts';
import type { MarksAnswer } from './answers.ts';
import { judged, runbook, type Finding } from './finding.ts';
import { count, durationOf, moment } from './times.ts';

const { markAgeSeconds, unmarkedSeconds } = sharedThresholds;

/** Returns the finding about the newest high-water mark, as the alert MarkStale judges it. */
export function findMarks(marks: MarksAnswer, now: Date): Finding {
  return judged('marks', describe(marks, now), {
    problem: findProblem(marks),
    advice: runbook('MarkStale'),
  });
}

function describe({ newest, sealedEntries, unmarkedEntries }: MarksAnswer, now: Date): string {
  const sealed = `${count(sealedEntries, 'entry', 'entries')} sealed`;
  const unmarked = unmarkedEntries === null ? '' : `, ${unmarkedEntries} without a mark`;
  if (newest === null) return `no high-water mark yet; ${sealed}${unmarked}`;
  const place = newest.sealedEntries === null ? '' : ` and stands at ${newest.sealedEntries}`;
  return `the newest was signed ${moment(newest.writtenAt, now)}${place}; ${sealed}${unmarked}`;
}

function findProblem({ newest, unmarkedEntries, unmarkedAgeSeconds }: MarksAnswer) {
  if (newest?.state === 'missing') return 'the object store lacks the newest mark';
  if (newest?.state === 'unreadable') return 'the newest mark cannot be read';
  if (unmarkedEntries === 0) return undefined;
  // Without a mark, its age is that of the log.
  const age = newest?.ageSeconds ?? unmarkedAgeSeconds ?? 0;
  // An entry before the newest of the mark may be sealed late: its age is not known.
  const waited = unmarkedAgeSeconds ?? unmarkedSeconds;
  if (age <= markAgeSeconds || waited < unmarkedSeconds) return undefined;
  return `sealed entries lack a mark, and none is newer than ${durationOf(markAgeSeconds)}`;
}
