import type { EntrySigning } from '../audit/sealing/entry-signing.ts';
import type { SealerStore } from '../audit/sealing/sealer-store.ts';
import type { Admission } from './admission.ts';

interface Sealing {
  readonly store: SealerStore;
  readonly signing: EntrySigning;
}

/**
 * Wraps the sealer's store and signing so that nothing is claimed or signed until the start is
 * admitted: until the admission, `claim` and `sign` throw as `assertAdmitted` does.
 */
export function sealWhenAdmitted(admission: Admission, { store, signing }: Sealing): Sealing {
  return {
    store: {
      ...store,
      async claim(limit) {
        admission.assertAdmitted();
        return store.claim(limit);
      },
    },
    signing: {
      async sign(keyId, entries) {
        admission.assertAdmitted();
        return signing.sign(keyId, entries);
      },
    },
  };
}
