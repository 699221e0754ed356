// Opens pages in the browser and the Worker that all test files share: a context for each test, and machines for
// each file.
import { type Browser, chromium } from "playwright-core";
import { afterAll, expect, inject } from "vitest";
import { onPage, type OpenPage, type PageChoice } from "./chromium.ts";
import { type PageWorker, pageWorker } from "./page-worker.ts";
import type { Shared } from "./setup.ts";

export type OpenPages = (choice: PageChoice, work: (open: OpenPage) => Promise<void>) => Promise<void>;

/**
 * Returns a function that opens a page for a test. The test fails at its end if the page had an unexpected fault. Call
 * `pagesOfFile` once in the `describe` of a file.
 */
export function pagesOfFile(): OpenPages {
  let connected: Promise<Browser> | undefined;
  afterAll(async () => (await connected)?.close());
  return async (choice, work) => {
    connected ??= shared("chromium").then((endpoint) => chromium.connect(endpoint));
    await onPage(await connected, choice, expect.getState().currentTestName ?? "a page", work);
  };
}

/** Returns the Worker of all files. The caller's machines have names that no other file uses. */
export async function sharedWorker(): Promise<PageWorker> {
  return pageWorker(await shared("worker"));
}

async function shared<Path extends keyof Shared>(path: Path): Promise<Shared[Path]> {
  const response = await fetch(`${inject("pageSetup")}/${path}`);
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Shared[Path];
}
