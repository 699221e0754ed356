// Measures the page's cost for its user, in a real Chromium: time until it is usable, time until 20,000 machines
// are shown, work for the changes of 10,000, and memory. Real: workerd, the Worker, its feed. Made up: the machines.
import { fileURLToPath } from "node:url";
import type { Browser, CDPSession, Page } from "playwright-core";
import { CHROMIUM_IS_MISSING, hasChromium, launchChromium, onPage } from "../../page/chromium.ts";
import { signIn } from "../../page/sign-in.ts";
import type { Benchmark, Progress, Round } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { until } from "./local-fleet.ts";
import { once } from "./once.ts";
import { type BenchWorker, startBenchWorker } from "./workerd.ts";

const ENTRY = fileURLToPath(new URL("../../worker/support/filled-index-entry.ts", import.meta.url));
/** The number of machines while the page is watched. */
const MACHINES = 10_000;
/** The number of machines when the page is loaded. */
const MOST_MACHINES = 20_000;
const AT_ONCE = 5000;
const LOADS = 5;
const MESSAGES = 10;
const CHANGES = 200;
const SLOWED = 4;
const SCROLLS = 5;
const SCROLLED_FRAMES = 120;
const SCROLLED_PX = 180;
const PATIENCE_MS = 60_000;

/**
 * The name of the page's own measurement: the time from a message of the feed until the document has its changes.
 */
const FEED_MEASURE = "rollcall:feed";

interface PageCost {
  interactiveMs: number[];
  rowsMs: number[];
  messageMs: number[];
  frameMs: number[];
  memoryMiB: number;
}

const cost = once(async (progress: Progress): Promise<PageCost> => {
  const worker = await startBenchWorker({ url: "http://127.0.0.1:9", token: "made-up" }, "m-*", {
    entry: ENTRY,
  });
  const browser = await launchChromium();
  try {
    const interactiveMs = await loads(browser, worker, "form input", SLOWED);
    const fill = async (begin: number, end: number) => {
      for (let from = begin; from < end; from += AT_ONCE)
        await get(worker, `/fill/${from}/${from + AT_ONCE}/${MOST_MACHINES}`);
      progress(`${end} machines are told`);
    };
    await fill(0, MACHINES);
    const watched = await whileWatched(browser, worker);
    await fill(MACHINES, MOST_MACHINES);
    return { interactiveMs, rowsMs: await loads(browser, worker, ROW), ...watched };
  } finally {
    await browser.close();
    await worker.stop();
  }
});

/** Selects the link of each machine in a list. */
const ROW = 'main a[href*="?machine="]';

/**
 * Measures the time from the start of a navigation until the page has an element of the selector and accepts input.
 * Each navigation starts without a cache.
 */
async function loads(
  browser: Browser,
  worker: BenchWorker,
  selector: string,
  slowed?: number,
): Promise<number[]> {
  const tookMs: number[] = [];
  for (let load = 0; load < LOADS; load++)
    await onPage(browser, { url: worker.url }, "bench", async ({ page }) => {
      if (slowed === undefined) await signIn(page, secretOf(worker));
      else await (await cdpOf(page)).send("Emulation.setCPUThrottlingRate", { rate: slowed });
      await page.addInitScript({ content: firstSeen(selector) });
      await page.goto("/");
      tookMs.push(await page.evaluate<number>("window.rollcallSeen"));
    });
  return tookMs;
}

/**
 * Returns a script that resolves once the page has the element and accepts input. The script checks for the element in
 * each frame, and then waits for a task of its own.
 */
const firstSeen = (selector: string) => `window.rollcallSeen = new Promise((seen) =>
  requestAnimationFrame(function look() {
    if (!document.querySelector(${JSON.stringify(selector)})) requestAnimationFrame(look);
    else setTimeout(() => seen(performance.now()));
  }));`;

async function whileWatched(
  browser: Browser,
  worker: BenchWorker,
): Promise<Pick<PageCost, "messageMs" | "frameMs" | "memoryMiB">> {
  const messageMs: number[] = [];
  const frameMs: number[] = [];
  let memoryMiB = 0;
  await onPage(browser, { url: worker.url }, "bench", async ({ page }) => {
    await signIn(page, secretOf(worker));
    await page.goto("/");
    await page.locator(ROW).first().waitFor({ timeout: PATIENCE_MS });
    for (let message = 0; message < MESSAGES; message++) {
      const before = await feedMeasures(page);
      const from = message * CHANGES;
      await get(worker, `/transitions/${from}/${from + CHANGES}/${MOST_MACHINES}`);
      let after = before;
      const isTold = async () => (after = await feedMeasures(page)).length > before.length;
      await until("a message of the feed", isTold, 50, PATIENCE_MS);
      messageMs.push(Math.max(...after.slice(before.length)));
    }
    const cdp = await cdpOf(page);
    for (let round = 0; round < SCROLLS; round++) frameMs.push(await scrolledFrameMs(page, cdp));
    memoryMiB = await usedMiB(cdp);
  });
  return { messageMs, frameMs, memoryMiB };
}

/** Scrolls by SCROLLED_PX in each of a number of frames, through rows that were not drawn before. */
const SCROLL = `new Promise((done) => {
  let frames = 0;
  requestAnimationFrame(function next() {
    scrollBy(0, ${SCROLLED_PX});
    frames += 1;
    if (frames < ${SCROLLED_FRAMES}) requestAnimationFrame(next);
    else requestAnimationFrame(() => done(frames));
  });
})`;

/** Returns the milliseconds for which each frame keeps the page busy: script, style, layout and paint. */
async function scrolledFrameMs(page: Page, cdp: CDPSession): Promise<number> {
  await cdp.send("Performance.enable");
  const busyS = async () => {
    const { metrics } = await cdp.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
  };
  const before = await busyS();
  const frames = await page.evaluate<number>(SCROLL);
  return ((await busyS()) - before) * (1000 / frames);
}

const feedMeasures = (page: Page) =>
  page.evaluate<number[]>(`performance.getEntriesByName("${FEED_MEASURE}").map(({ duration }) => duration)`);

/** Returns the memory of JavaScript, the document and buffers after a garbage collection, in MiB. */
async function usedMiB(cdp: CDPSession): Promise<number> {
  for (let turn = 0; turn < 3; turn++) await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize, embedderHeapUsedSize, backingStorageSize } = await cdp.send("Runtime.getHeapUsage");
  return (usedSize + embedderHeapUsedSize + backingStorageSize) / 2 ** 20;
}

const cdpOf = (page: Page) => page.context().newCDPSession(page);

const secretOf = ({ operator }: BenchWorker) =>
  operator.headers["authorization"]?.slice("Bearer ".length) ?? "";

async function get({ url }: BenchWorker, path: string): Promise<void> {
  const response = await fetch(url + path);
  if (!response.ok) throw new Error(`${path} → ${response.status}: ${await response.text()}`);
}

const rounds = (values: number[]): Round[] => values.map((ours) => ({ ours }));

const measured = (name: string, of: (cost: PageCost) => number[]): Benchmark => ({
  ...budgetOf(name),
  ...(!hasChromium && { lacks: CHROMIUM_IS_MISSING }),
  measure: async (progress) => rounds(of(await cost(progress))),
});

export const pageCosts: Benchmark[] = [
  measured("page-interactive", ({ interactiveMs }) => interactiveMs),
  measured("page-20000-rows", ({ rowsMs }) => rowsMs),
  measured("page-feed-message", ({ messageMs }) => messageMs),
  measured("page-scroll", ({ frameMs }) => frameMs),
  measured("page-memory", ({ memoryMiB }) => [memoryMiB]),
];
