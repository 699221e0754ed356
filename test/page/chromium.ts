// A real Chromium and pages in it. An unexpected fault in a page is an error at its end. Benchmarks and screenshots use it
// too, so it imports no test runner.
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

/** The one that the variable names, or Debian's; the headless shell, if it is installed, takes a third of the time. */
const CHROMIUM =
  process.env["CHROMIUM"] ??
  ["/usr/bin/chromium-headless-shell"].find((path) => existsSync(path)) ??
  "/usr/bin/chromium";

/** Chromium downloads nothing, and connects to nothing but what the page requests. */
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

/** Without Chromium, `describe.skipIf(!hasChromium)` skips its tests. */
export const hasChromium = spawnSync(CHROMIUM, ["--version"]).status === 0;

/** For the log: why tests were skipped. */
export const CHROMIUM_IS_MISSING = `${CHROMIUM} cannot be run: what needs a browser is skipped`;

/** The folder of screenshots; git ignores it. */
export const TEST_OUTPUT = join(ROOT, "test-output");

/** The window's size, unless the test sets another one. */
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

/** The timeout for what the page shows; it only ends a hanging test. */
const PATIENCE_MS = 60_000;

export interface OpenPage {
  page: Page;
  /** Expects faults that match: an HTTP status (`GET /v1/x → 403`), a console error, … */
  expectFault: (pattern: RegExp) => void;
  /** The faults so far, expected or not. */
  faults: () => string[];
  /**
   * Lists axe's serious and critical violations, a line each: `color-contrast: … (#id)`. `rule`: checks this rule only.
   */
  accessibilityFaults: (rule?: string) => Promise<string[]>;
  /** Writes test-output/NAME.png. */
  screenshot: (name: string) => Promise<void>;
}

/** Playwright's options; `url` is the page's origin. */
export interface PageChoice extends Omit<BrowserContextOptions, "baseURL"> {
  url: string;
}

const LAUNCH = { executablePath: CHROMIUM, args: FLAGS };

export function launchChromium(): Promise<Browser> {
  return chromium.launch(LAUNCH);
}

/** For several processes. */
export function serveChromium(): Promise<BrowserServer> {
  return chromium.launchServer({ ...LAUNCH, host: "127.0.0.1" });
}

/** Runs `work` in a context of its own, and closes it at the end. `name`: the test's, for its output files. */
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
    // The page's earlier messages arrive before its answer.
    await page.evaluate("0").catch(() => undefined);
    faults.throwUnexpected();
  } finally {
    thisRun().log(`browser console ${name}`.slice(0, 100), faults.console());
    await context.close();
  }
}

/** Adds the page's screenshot and its other faults to the error. */
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
  // The debugger's protocol evaluates it, so the page's Content-Security-Policy stays as it is.
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
  // Hiding the caret or stopping animations would add a style, which the page's policy forbids.
  await page.screenshot({ path: join(TEST_OUTPUT, `${name}.png`), caret: "initial", animations: "allow" });
}
