import type { ResumeRecord, ResumeStore } from '../../../client/uploads/resume.ts';

/** Creates a resume journal in memory, for a client that outlives the server. */
export function createMemoryJournal(): ResumeStore {
  let records: ResumeRecord[] = [];
  return {
    load: async () => records,
    append: async (record) => void records.push(record),
    clear: async () => {
      records = [];
    },
  };
}
