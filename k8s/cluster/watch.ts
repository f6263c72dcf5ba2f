import { Watch, type KubeConfig } from '@kubernetes/client-node';
import { setTimeout as delay } from 'node:timers/promises';

/** The least and the most time between two watches. */
const minPauseMs = 1_000;
const maxPauseMs = 30_000;
/** A watch that lasted as long was in order, and the next one begins soon. */
const steadyMs = 10_000;
/** The client ends a watch after 30 s without a byte, and bookmarks are rarer than that. */
const watchSeconds = 25;

interface WatchOptions {
  readonly kubeConfig: KubeConfig;
  /** The path of the list of the watched objects. */
  readonly path: string;
  readonly labelSelector?: string;
  /** Called when something has changed, or may have while nobody watched. */
  readonly onChange: () => void;
  /** Called when a watch has ended with an error. */
  readonly onEnd: (error: unknown) => void;
  readonly stop: AbortSignal;
  readonly minPauseMs?: number;
}

/**
 * Watches objects until `stop` aborts. It keeps no copy: every pass reads what it decides on from
 * the API server, and a watch only tells when. So whenever a watch begins, for whatever reason the
 * last one ended, everything counts as changed, and nothing can be missed.
 */
export async function watchObjects(options: WatchOptions): Promise<void> {
  const { onChange, onEnd, stop, minPauseMs: least = minPauseMs } = options;
  let pauseMs = least;
  while (!stop.aborted) {
    const startedAt = performance.now();
    const error = await watchOnce(options);
    if (stop.aborted) return;
    const isSteady = error === undefined || performance.now() - startedAt >= steadyMs;
    if (error !== undefined) onEnd(error);
    pauseMs = isSteady ? least : Math.min(2 * pauseMs, maxPauseMs);
    await delay(pauseMs, undefined, { signal: stop }).catch(() => undefined);
    onChange();
  }
}

/** Resolves when one watch has ended: with its error, or with undefined after its time. */
async function watchOnce({
  kubeConfig,
  path,
  labelSelector,
  onChange,
  stop,
}: WatchOptions): Promise<unknown> {
  const { promise: ended, resolve: end } = Promise.withResolvers<unknown>();
  const query = { labelSelector, allowWatchBookmarks: true, timeoutSeconds: watchSeconds };
  const watch = await new Watch(kubeConfig).watch(
    path,
    query,
    (phase, object: { readonly message?: string } | undefined) => {
      if (phase === 'BOOKMARK') return;
      if (phase === 'ERROR') end(new Error(object?.message ?? 'the watch failed'));
      else onChange();
    },
    (error: unknown) => end(error ?? undefined),
  );
  const abort = () => watch.abort();
  stop.addEventListener('abort', abort, { once: true });
  try {
    return await ended;
  } finally {
    stop.removeEventListener('abort', abort);
    watch.abort();
  }
}
