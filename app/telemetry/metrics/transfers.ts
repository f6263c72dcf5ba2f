import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';

/** Creates the metrics of the bytes of files. */
export function createTransferMetrics(meter: Meter) {
  const uploaded = meter.counter({
    name: 'probatio_upload_bytes_total',
    help: 'Bytes of the parts of uploads that were stored',
    labels: {},
  });
  const downloaded = meter.counter({
    name: 'probatio_download_bytes_total',
    help: 'Bytes of files that were handed to connections',
    labels: {},
  });
  return {
    sent: (bytes: number): void => downloaded.add({}, bytes),
    /** Returns a store that counts the parts that it stores as uploaded. */
    countParts: (store: ObjectStore): ObjectStore => ({
      ...store,
      async putPart(part, body, options) {
        const stored = await store.putPart(part, body, options);
        uploaded.add({}, part.size);
        return stored;
      },
    }),
  };
}
