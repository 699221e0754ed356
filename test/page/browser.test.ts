// Tests what each test of the page relies on: an unexpected fault in a page fails its test, and axe finds
// violations.
import { beforeAll, describe, expect, it, vi } from "vitest";
import { pagesOfFile, sharedWorker } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import type { PageWorker } from "./page-worker.ts";

const TRUSTED_TYPES = /policy: require-trusted-types-for forbids/;
const FAULTS: readonly [situation: string, script: string, fault: RegExp][] = [
  ["logs an error", 'console.error("all is lost")', /console: all is lost/],
  [
    "throws an uncaught error",
    'void setTimeout(() => { throw new Error("a bug") }, 0)',
    /uncaught: Error: a bug/,
  ],
  [
    "has a promise that no handler catches",
    'void Promise.reject(new Error("a lost bug"))',
    /uncaught: Error: a lost bug/,
  ],
  ["is refused something", 'void fetch("/v1/machines")', /GET \/v1\/machines → 403/],
  [
    "requests another origin",
    'void fetch("https://example.invalid/").catch(() => {})',
    /policy: connect-src forbids https:\/\/example\.invalid/,
  ],
  [
    "sets a style that is inline",
    'void document.body.setAttribute("style", "color: red")',
    /policy: style-src-attr forbids inline/,
  ],
  [
    "adds a script that is inline",
    'const script = document.createElement("script"); script.append("1"); document.body.append(script)',
    TRUSTED_TYPES,
  ],
  [
    "makes HTML of a text",
    'try { document.body.innerHTML = "<b>text</b>"; } catch {}',
    new RegExp(`(${TRUSTED_TYPES.source}[^]*){2}`),
  ],
];
/** Matches further lines of the browser's log: some faults make the browser log more than one line. */
const LOGGED = /^console: .*(Content Security Policy|Fetch API|Trusted)/;

describe.skipIf(!hasChromium)("a page", () => {
  const open = pagesOfFile();
  let worker: PageWorker;
  beforeAll(async () => {
    worker = await sharedWorker();
  });

  /** Opens a page with all faults, of which the test expects these. */
  const run = (expected: readonly RegExp[]) =>
    open({ url: worker.url }, async ({ page, expectFault, faults }) => {
      for (const pattern of expected) expectFault(pattern);
      await page.goto("/");
      for (const [situation, script, fault] of FAULTS) {
        await page.evaluate(script);
        await vi.waitFor(() => expect(faults().join("\n"), situation).toMatch(fault), { timeout: 60_000 });
      }
    });

  it("in which something goes wrong → its test fails, and says what", async () => {
    const message = await run([]).then(
      () => "",
      (error: Error) => error.message,
    );
    for (const [situation, , fault] of FAULTS) expect(message, situation).toMatch(fault);
  });

  it("in which only goes wrong what is expected → its test passes", () =>
    run([...FAULTS.map(([, , fault]) => fault), TRUSTED_TYPES, LOGGED, /^GET \/v1\/session → /]));

  it("with a picture without a text and a button without a name → axe says so", () =>
    open({ url: worker.url }, async ({ page, expectFault, accessibilityFaults }) => {
      expectFault(/^GET \/v1\/session → /);
      await page.goto("/");
      await page.evaluate(
        'document.body.append(document.createElement("img"), document.createElement("button"))',
      );
      const faults = await accessibilityFaults();
      expect(faults.toSorted()).toEqual([
        expect.stringMatching(/^button-name: .*button/),
        expect.stringMatching(/^image-alt: .*img/),
      ]);
    }));
});
