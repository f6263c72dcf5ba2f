import { linkNextPage } from '../http/responses/next-page.ts';
import { parseIfMatch, withETag } from '../http/responses/precondition.ts';
import { smallBodyBytes } from '../http/bodies/json-body.ts';
import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import type { FreshProofs } from '../sessions/fresh-proof.ts';
import type { Devices } from './devices.ts';
import type { DeviceEnvelopes } from './envelopes.ts';
import {
  DeviceChange,
  DeviceEnvelope,
  DeviceEnvelopeView,
  DeviceId,
  DeviceKeyForm,
  DeviceList,
  DevicePage,
  DeviceRevocation,
  DeviceView,
} from './schema.ts';

const tag = 'Keys and devices';
const access = { scopes: ['keys:manage'], orDeveloper: true } as const;

interface DeviceServices {
  readonly deviceEnvelopes: DeviceEnvelopes;
  readonly devices: Devices;
  readonly freshProofs: FreshProofs;
}

const route = routeFor<DeviceServices>();

export const deviceRoutes = [
  route({
    method: 'post',
    path: '/v1/crypto/keys/device-envelope',
    operation: 'registerDevice',
    tag,
    summary: 'Registers a device with the master key wrapped for it, and binds the session to it',
    access,
    body: DeviceKeyForm,
    maxBodyBytes: smallBodyBytes,
    status: 201,
    response: DeviceEnvelope,
    hasETag: true,
    noStore: true,
    errors: [
      'invalid_key_length',
      'raw_keys_refused',
      'device_unknown',
      'device_blacklisted',
      'envelope_exists',
      'quota_exceeded',
      'audit_backlog_full',
    ],
    audit: { actions: ['device.registered', 'envelope.created'] },
    handler: async ({ deviceEnvelopes, freshProofs }, { request, http, body, reply }) => {
      const proof = await freshProofs.read(request.caller, http.headers);
      return withETag(reply, deviceEnvelopes.create(request, { ...body, proof }));
    },
  }),
  route({
    method: 'get',
    path: '/v1/crypto/keys/device-envelope/:deviceId',
    operation: 'getDeviceEnvelope',
    tag,
    summary: 'Returns the master key wrapped for a device',
    access,
    params: DeviceId,
    status: 200,
    response: DeviceEnvelopeView,
    hasETag: true,
    noStore: true,
    errors: ['device_blacklisted', 'not_found'],
    handler: ({ deviceEnvelopes }, { request, params, reply }) =>
      withETag(reply, deviceEnvelopes.get(request, params.deviceId)),
  }),
  route({
    method: 'get',
    path: '/v1/crypto/keys/devices',
    operation: 'listDevices',
    tag,
    summary: 'Lists the caller’s devices that are not revoked',
    access,
    query: DevicePage,
    status: 200,
    response: DeviceList,
    maxAnswerBytes: listBytes,
    noStore: true,
    errors: [],
    handler: async ({ devices }, { request, query, reply }) => {
      const page = await devices.list(request, query);
      linkNextPage(reply, query, page.cursor);
      return page.devices;
    },
  }),
  route({
    method: 'put',
    path: '/v1/crypto/keys/devices/:deviceId',
    operation: 'changeDevice',
    tag,
    summary: 'Replaces the description of a device, which the client has encrypted; If-Match',
    access,
    params: DeviceId,
    body: DeviceChange,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: DeviceView,
    hasETag: true,
    noStore: true,
    errors: [
      'invalid_request',
      'device_blacklisted',
      'not_found',
      'precondition_required',
      'precondition_failed',
      'audit_backlog_full',
    ],
    audit: { actions: ['device.changed'] },
    handler: async ({ devices }, { request, params, body, http, reply }) => {
      const change = { ...body, ifMatch: parseIfMatch(http.headers['if-match']) };
      return withETag(reply, devices.change(request, params.deviceId, change));
    },
  }),
  route({
    method: 'delete',
    path: '/v1/crypto/keys/devices/:deviceId',
    operation: 'revokeDevice',
    tag,
    summary: 'Revokes a device for ever: removes its envelope and ends its sessions',
    access: { ...access, freshProof: 'if its envelope is the last way to the master key' },
    params: DeviceId,
    body: DeviceRevocation,
    maxBodyBytes: smallBodyBytes,
    isBodyOptional: true,
    status: 204,
    response: undefined,
    errors: ['not_found'],
    audit: { actions: ['device.revoked', 'envelope.removed'] },
    handler: async ({ devices, freshProofs }, { request, http, params, body }) => {
      const proof = await freshProofs.read(request.caller, http.headers);
      return devices.revoke(request, { ...params, reason: body.reason, proof });
    },
  }),
];
