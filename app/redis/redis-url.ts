import { z } from 'zod';

/** The URL of a Redis server, with TLS if it begins with `rediss:`. */
export const RedisUrl = z.url({ protocol: /^rediss?$/ });
