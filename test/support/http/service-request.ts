import { randomUUID } from 'node:crypto';
import type { ServiceRequest } from '../../../app/http/requests/request.ts';

/** Returns a request for tests that call a service directly. */
export function serviceRequest<C>(caller: C): ServiceRequest<C> {
  return { caller, requestId: randomUUID(), clientAddress: '127.0.0.1' };
}
