/**
 * For pages whose Content-Security-Policy forbids `eval`: imported before all else of the client, it keeps
 * zod from trying whether it may compile its parsers, which the browser would report as a violation.
 */
import { z } from 'zod';

z.config({ jitless: true });
