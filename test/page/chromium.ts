// A real Chromium, and pages in it: what goes wrong in one that is not expected is an error at its end. Knows no test
// runner, since benchmarks and screenshots use it as well.
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

/** The one that the variable names, or Debian's: without a browser's windows where there is that, for a third of the time. */
const CHROMIUM =
  process.env["CHROMIUM"] ??
  ["/usr/bin/chromium-headless-shell"].find((path) => existsSync(path)) ??
  "/usr/bin/chromium";

/** Nothing is downloaded, and nobody is asked, beside what the page asks for. */
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

/** Where there is none, `describe.skipIf(!hasChromium)` skips what needs one. */
export const hasChromium = spawnSync(CHROMIUM, ["--version"]).status === 0;

/** For whoever reads the log: why tests were skipped. */
export const CHROMIUM_IS_MISSING = `${CHROMIUM} cannot be run: what needs a browser is skipped`;

/** Where screenshots go; git ignores it. */
export const TEST_OUTPUT = join(ROOT, "test-output");

/** For the views: a desktop's window unless the test says otherwise. */
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

/** For what the page is to show: it only ends what hangs. */
const PATIENCE_MS = 60_000;

export interface OpenPage {
  page: Page;
  /** What goes wrong and matches is what the test is about: an HTTP status (`GET /v1/x → 403`), a console error, … */
  expectFault: (pattern: RegExp) => void;
  /** What has gone wrong so far, expected or not. */
  faults: () => string[];
  /** What axe calls serious or critical, a line each: `color-contrast: … (#id)`. `rule`: that alone is looked at. */
  accessibilityFaults: (rule?: string) => Promise<string[]>;
  /** Into test-output/NAME.png. */
  screenshot: (name: string) => Promise<void>;
}

/** As Playwright has it; `url` is the page's origin. */
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

/** In a context of its own, which nothing of others is in; closed when `work` has ended. `name`: who asked, for what it leaves. */
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
    // What the page has said before comes before its answer.
    await page.evaluate("0").catch(() => undefined);
    faults.throwUnexpected();
  } finally {
    thisRun().log(`browser console ${name}`.slice(0, 100), faults.console());
    await context.close();
  }
}

/** How the page looked then, and what else went wrong in it. */
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
  // The debugger's protocol evaluates it: the page's Content-Security-Policy stays what it is.
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
  // Hiding the caret or stopping animations would put a style into the page, which its policy forbids.
  await page.screenshot({ path: join(TEST_OUTPUT, `${name}.png`), caret: "initial", animations: "allow" });
}
