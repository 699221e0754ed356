// Starts a real Chromium and opens pages in it. An unexpected fault in a page is an error at the page's end. Benchmarks
// and screenshots use this file too, so it imports no test runner.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import {
  type Browser,
  type BrowserContextOptions,
  type BrowserServer,
  chromium,
  type Page,
} from "playwright-core";
import { ROOT } from "../e2e/local-cluster.ts";
import { thisRun } from "../e2e/run-record.ts";
import { type PageFaults, watchFaults } from "./page-faults.ts";

/**
 * The path of the browser: from the variable, or Debian's. The headless shell, if it is installed, takes a third of
 * the time.
 */
const CHROMIUM =
  process.env["CHROMIUM"] ??
  ["/usr/bin/chromium-headless-shell"].find((path) => existsSync(path)) ??
  "/usr/bin/chromium";

/**
 * The flags of Chromium, with which it downloads nothing, and connects only to addresses that the page requests.
 */
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-quic",
];

/** true if Chromium can be started. `describe.skipIf(!hasChromium)` skips tests without it. */
export const hasChromium = spawnSync(CHROMIUM, ["--version"]).status === 0;

/** The log line that explains why tests were skipped. */
export const CHROMIUM_IS_MISSING = `${CHROMIUM} cannot be run: what needs a browser is skipped`;

/** The folder of screenshots; git ignores it. */
export const TEST_OUTPUT = join(ROOT, "test-output");

/** The size of the window, unless the test sets another one. */
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };
export const WIDE = { width: 2560, height: 1440 };

/** The time limit for a change of the page, in milliseconds. Long, so that it only ends a test that hangs. */
const PATIENCE_MS = 60_000;

export interface OpenPage {
  page: Page;
  /** Expects faults that match, such as an HTTP status (`GET /v1/x → 403`) or a console error. */
  expectFault: (pattern: RegExp) => void;
  /** Returns the faults until now, expected or not. */
  faults: () => string[];
  /**
   * Lists axe's serious and critical violations, one in each line: `color-contrast: … (#id)`. With `rule`, axe
   * checks only this rule.
   */
  accessibilityFaults: (rule?: string) => Promise<string[]>;
  /** Writes a screenshot to test-output/NAME.png. */
  screenshot: (name: string) => Promise<void>;
}

/** Playwright's options of a page; `url` is the page's origin. */
export interface PageChoice extends Omit<BrowserContextOptions, "baseURL"> {
  url: string;
}

const LAUNCH = { executablePath: CHROMIUM, args: FLAGS };

export function launchChromium(): Promise<Browser> {
  return chromium.launch(LAUNCH);
}

/** Starts a browser that pages of several processes can use. */
export function serveChromium(): Promise<BrowserServer> {
  return chromium.launchServer({ ...LAUNCH, host: "127.0.0.1" });
}

/**
 * Runs `work` on a page in a context of its own, and closes the context at the end. `name` is the test's, for its
 * output files.
 */
export async function onPage(
  browser: Browser,
  { url, ...choice }: PageChoice,
  name: string,
  work: (open: OpenPage) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({
    baseURL: url,
    viewport: DESKTOP,
    reducedMotion: "reduce",
    ...choice,
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const faults = await watchFaults(context, new URL(url).origin);
  try {
    const page = await context.newPage();
    await work({
      page,
      expectFault: faults.expect,
      faults: faults.all,
      accessibilityFaults: (rule) => accessibilityFaults(page, rule),
      screenshot: (name) => screenshot(page, name),
    }).catch((error: unknown) => failed(page, faults, name, error));
    // The evaluation waits for the page: its earlier messages arrive before its answer.
    await page.evaluate("0").catch(() => undefined);
    faults.throwUnexpected();
  } finally {
    thisRun().log(`browser console ${name}`.slice(0, 100), faults.console());
    await context.close();
  }
}

/** Throws the error with the page's screenshot and its other faults. */
async function failed(page: Page, faults: PageFaults, name: string, error: unknown): Promise<never> {
  const file = `failed ${name}`.replaceAll(/[^\w-]+/g, "-").slice(0, 150);
  await screenshot(page, file).catch(() => undefined);
  const unexpected = faults.unexpected();
  if (unexpected.length > 0 && error instanceof Error)
    error.message += `\nIn the page:\n${unexpected.map((line) => `  ${line}`).join("\n")}`;
  throw error;
}

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

async function accessibilityFaults(page: Page, rule?: string): Promise<string[]> {
  // The debugger's protocol evaluates axe, so the page's Content-Security-Policy stays as it is.
  await page.evaluate(readFileSync(AXE, "utf8"));
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run(document, ${JSON.stringify({ resultTypes: ["violations"], ...(rule && { runOnly: { type: "rule", values: [rule] } }) })})`,
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, help, nodes }) => nodes.map(({ target }) => `${id}: ${help} (${target.join(" ")})`));
}

async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(TEST_OUTPUT, { recursive: true });
  // The caret stays visible and animations run: changing them would add a style, which the page's policy forbids.
  await page.screenshot({ path: join(TEST_OUTPUT, `${name}.png`), caret: "initial", animations: "allow" });
}
