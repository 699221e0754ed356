// The browser of a test file: one for all of its tests, and a context for each. No test of its own.
import type { Browser } from "playwright-core";
import { afterAll, expect } from "vitest";
import {
  CHROMIUM_IS_MISSING,
  hasChromium,
  launchChromium,
  onPage,
  type OpenPage,
  type PageChoice,
} from "./chromium.ts";

if (!hasChromium) console.log(CHROMIUM_IS_MISSING);

export type OpenPages = (choice: PageChoice, work: (open: OpenPage) => Promise<void>) => Promise<void>;

/**
 * To be called once, in the describe of a file. What it returns opens a page for a test, which fails at its end where
 * something went wrong in the page that it did not expect.
 */
export function pagesOfFile(): OpenPages {
  let launched: Promise<Browser> | undefined;
  afterAll(async () => (await launched)?.close());
  return async (choice, work) => {
    launched ??= launchChromium();
    await onPage(await launched, choice, expect.getState().currentTestName ?? "a page", work);
  };
}
