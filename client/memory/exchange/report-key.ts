import { deriveGcmKey, type GcmKey } from '../../crypto/aes-gcm.ts';
import { presentKeyOf, type MasterKeys } from '../../keys/master-keys.ts';

const reportLabel = 'Service_Memory_Report_v1';

/** The key under which a device's reports are encrypted, and the generation of its master key. */
export interface ReportKey {
  readonly generation: number;
  readonly key: GcmKey;
}

export async function deriveReportKey(keys: MasterKeys): Promise<ReportKey> {
  const { masterKey, generation } = presentKeyOf(keys);
  return { generation, key: await deriveGcmKey(masterKey, reportLabel) };
}
