/**
 * Configures zod for pages whose Content-Security-Policy forbids `eval`. Import this module before
 * the rest of the client: otherwise zod tests whether it may compile its parsers, and the browser
 * reports that as a violation.
 */
import { z } from 'zod';

z.config({ jitless: true });
