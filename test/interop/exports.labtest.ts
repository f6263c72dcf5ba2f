import test from 'ava';
import * as fc from 'fast-check';
import { seed } from '../support/runs/rounds.ts';
import { createDevice, createObject } from '../support/sync/devices.ts';
import { jsonObject, nested } from '../sync/merge/json-values.ts';
import { startVault } from '../support/vault/vault.ts';
import { runPython } from './python.ts';

const objects = 300;

test('exports of generated objects equal the texts that Python’s rfc8785 makes', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const device = await createDevice(vault);
  t.log(`SEED=${seed}`);
  const samples = [nested(32), ...fc.sample(jsonObject, { seed, numRuns: objects })];
  const pairs: [sent: string, exported: string][] = [];
  for (const data of samples) {
    const id = await createObject(device, data);
    const response = await fetch(`${vault.baseUrl}/v1/sync/${id}/export`, {
      headers: { authorization: `Bearer ${device.api.token}`, 'x-device-id': device.deviceId },
    });
    const exported = await response.text();
    t.is(response.status, 200, exported);
    const sent = JSON.stringify(data);
    t.deepEqual((JSON.parse(exported) as { readonly data: unknown }).data, JSON.parse(sent));
    pairs.push([sent, exported]);
  }
  const { code, output, errors } = await runPython('check_exports.py', [], JSON.stringify(pairs));
  t.is(code, 0, `${output}\n${errors}`);
  t.is(output.trim(), '');
});
