// Measures the cost of a feed with 100,000 machines: until an acknowledging client has all of them, and for 200
// transitions.
import { gzipSync } from "node:zlib";
import { feedLine, type FeedLine, followFeed } from "../../../infra/operator/feed-client.ts";
import type { FeedView } from "../../../shared/fleet/feed-view.ts";
import { success } from "../../../shared/result.ts";
import type { BenchWorker } from "./workerd.ts";

export interface FeedCost {
  /** The CPU time of workerd for the snapshot, in seconds. */
  snapshotSeconds: number;
  /** Seconds from the feed's opening until the client, on the same computer, has parsed everything. */
  snapshotTakesSeconds: number;
  /** The size of the snapshot, with each message compressed by itself. */
  snapshotKiB: number;
  changesBytes: number;
}

const PATIENCE_MS = 60_000;
export const CHANGES = 200;

/** Measures a feed while `change` makes CHANGES machines change. */
export async function feedCost(
  { url, operator, cpuMicroseconds }: BenchWorker,
  machines: number,
  change: () => Promise<unknown>,
): Promise<FeedCost> {
  const end = new AbortController();
  const signal = AbortSignal.any([end.signal, AbortSignal.timeout(PATIENCE_MS)]);
  const texts: string[] = [];
  const changedNames = new Set<string>();
  let told: (view: FeedView) => void = () => {};
  const next = () => new Promise<FeedView>((resolve) => (told = resolve));
  const whole = next();
  const [before, startedMs] = [cpuMicroseconds(), performance.now()];
  const done = followFeed({
    open: (cursor) => copied(feedLine({ url, headers: operator.headers }, cursor), texts),
    mayOpen: () => Promise.resolve(success(null)),
    onUpdate: (view, { isWhole, changed }) => {
      for (const name of isWhole ? [] : changed) changedNames.add(name);
      if (isWhole || changedNames.size === CHANGES) told(view);
    },
    signal,
    random: Math.random,
    wait: () => Promise.resolve(),
    after: (ms, work) => {
      const timer = setTimeout(work, ms);
      return () => {
        clearTimeout(timer);
      };
    },
  });
  const view = await Promise.race([whole, done.then(() => null)]);
  const snapshotTakesSeconds = (performance.now() - startedMs) / 1000;
  const snapshotSeconds = (cpuMicroseconds() - before) / 1e6;
  if (view?.machines.size !== machines) throw new Error(`the feed told of ${view?.machines.size} machines`);
  const snapshotKiB = texts.reduce((sum, text) => sum + gzipSync(text).length, 0) / 1024;
  const known = texts.length;
  const changed = next();
  await change();
  await Promise.race([changed, done]);
  end.abort();
  await done;
  const changesBytes = texts.slice(known).reduce((sum, text) => sum + gzipSync(text).length, 0);
  return { snapshotSeconds, snapshotTakesSeconds, snapshotKiB, changesBytes };
}

function copied(line: FeedLine, texts: string[]): FeedLine {
  return {
    ...line,
    listen: (onText, onClose) => {
      line.listen((text) => {
        texts.push(text);
        onText(text);
      }, onClose);
    },
  };
}
