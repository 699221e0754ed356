// Takes screenshots of every view over a small fleet, in both themes and at three widths, into test-output/. Copies some into
// docs/images/ (`npm run screenshots`). A further row in the table of views adds a view.
import { copyFileSync, mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "playwright-core";
import type { FleetState } from "../../shared/fleet/state.ts";
import { temporaryFolder } from "../e2e/local-cluster.ts";
import { answerInPage } from "./asked-machine.ts";
import {
  CHROMIUM_IS_MISSING,
  hasChromium,
  launchChromium,
  onPage,
  PHONE,
  TEST_OUTPUT,
  WIDE,
} from "./chromium.ts";
import { type PageWorker, pageWorker, startClusterWorker } from "./page-worker.ts";
import { signIn } from "./sign-in.ts";

interface View {
  name: string;
  /** The path of the page, with its query. */
  path: string;
  /** true to open the page without a session, so that it asks for a secret. */
  isSignedOut?: boolean;
  /** Resolves once the page shows the content of the picture. */
  shown: (page: Page) => Promise<unknown>;
}

const text = (pattern: RegExp) => (page: Page) =>
  page.getByText(pattern).filter({ visible: true }).first().waitFor();
const heading = (page: Page) => page.getByRole("main").getByRole("heading").first().waitFor();
const bands = (page: Page) => page.locator(".timeline-row rect.band").first().waitFor();

/** The answers of a machine in trouble, by the question. */
const ANSWERS = {
  diagnosis: `fail  disk  /var (/dev/sda2) is full: 98 % of 40 GiB are used
            → ask folders path=/var
fail  unit  nginx.service has failed (exit-code, exit code 1)
            → ask logs unit=nginx.service lines=20
no fault found: runtime, way to the Worker, load, kernel's log, links, heat, boot
`,
  logs: `2026-11-26T10:58:31.000Z systemd[1]: Starting nginx.service - A high performance web server ...
2026-11-26T10:58:31.071Z nginx[4127]: [emerg] open() "/var/log/nginx/error.log" failed (28: No space left on device)
2026-11-26T10:58:31.074Z systemd[1]: nginx.service: Main process exited, code=exited, status=1/FAILURE
2026-11-26T10:58:31.075Z systemd[1]: nginx.service: Failed with result 'exit-code'.
`,
  processes: "",
  disks: "",
  folders: "",
  network: "",
  units: "",
  runtime: "",
  hardware: "",
  boots: "",
  bundle: "",
};

/** Lets the machine answer what is wrong with it, in the page: the machines here are played, and answer nothing. */
async function diagnosed(page: Page): Promise<void> {
  await answerInPage(page, ANSWERS);
  await page.reload();
  await page.getByRole("button", { name: "Ask shop-berlin-1" }).click();
  await page.getByRole("button", { name: /^Ask logs/ }).click();
  await page
    .getByText(/^Complete: /)
    .first()
    .waitFor();
}

const VIEWS: readonly View[] = [
  {
    name: "sign-in",
    path: "/",
    isSignedOut: true,
    shown: (page) => page.getByRole("textbox").first().waitFor(),
  },
  { name: "fleet", path: "/", shown: text(/shop-hamburg-2/) },
  { name: "groups", path: "/?group=architecture", shown: text(/shop-hamburg-2/) },
  { name: "maintenance", path: "/?machine=shop-leipzig-3", shown: text(/In maintenance/) },
  { name: "machine", path: "/?machine=shop-berlin-1", shown: bands },
  { name: "timeline", path: "/?machine=shop-berlin-2&range=2m", shown: bands },
  { name: "ask", path: "/?machine=shop-berlin-1&tab=ask", shown: diagnosed },
  { name: "day", path: "/?view=day&group=architecture", shown: text(/^All/) },
  { name: "rollout", path: "/?view=rollout", shown: heading },
  { name: "approvals", path: "/?view=approvals", shown: text(/shop-bremen-1/) },
  { name: "tokens", path: "/?view=tokens", shown: heading },
  { name: "audit", path: "/?view=audit", shown: heading },
  { name: "notifications", path: "/?view=notifications", shown: heading },
  { name: "deployment", path: "/?view=deployment", shown: heading },
];

/** The settings of the browser for each look. */
const PHONE_SCREEN = { viewport: PHONE, hasTouch: true, isMobile: true };
const WIDE_SCREEN = { viewport: WIDE };
const LOOKS = {
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  phone: { colorScheme: "light", ...PHONE_SCREEN },
  "phone-dark": { colorScheme: "dark", ...PHONE_SCREEN },
  wide: { colorScheme: "light", ...WIDE_SCREEN },
  "wide-dark": { colorScheme: "dark", ...WIDE_SCREEN },
} as const;

/** The images of docs/, and their names in test-output/. */
const IN_DOCS: Readonly<Record<string, string>> = {
  "page-fleet": "fleet-light",
  "page-machine": "timeline-light",
  "page-ask": "ask-light",
  "page-approvals": "approvals-light",
  "page-phone": "fleet-phone",
};
const IMAGES = resolve(import.meta.dirname, "../../docs/images");
const MAX_IMAGE_BYTES = 150 * 1024;

const CITIES = ["berlin", "bremen", "hamburg", "leipzig"];
const MACHINES = CITIES.flatMap((city) => [1, 2, 3].map((number) => `shop-${city}-${number}`));

/** Gives a machine two eventful minutes: short of memory, then silent, then rebooted. */
async function liveThrough(worker: PageWorker, name: string): Promise<void> {
  const steps: readonly [seconds: number, happens: () => Promise<void>][] = [
    [20, () => worker.pressure(name, true)],
    [20, () => worker.pressure(name, false)],
    [10, () => worker.machineFallsSilent(name)],
    [25, () => worker.machineReturns(name)],
    [20, () => Promise.resolve()],
  ];
  for (const [seconds, happens] of steps) {
    await pause(seconds * 1000);
    await happens();
  }
}

/** Adds the machines, with one for each kind of trouble. */
async function populate(worker: PageWorker): Promise<void> {
  for (const name of MACHINES) await worker.machineJoins(name);
  await liveThrough(worker, "shop-berlin-2");
  await worker.pressure("shop-berlin-1", true);
  await worker.fault("shop-leipzig-2", "not ready");
  await worker.anotherAsks("shop-bremen-1");
  const maintenance = ["begin", "--until", "4h", "--comment", "new disk"];
  await worker.rollcall(["node", "maintenance", "shop-leipzig-3", ...maintenance]);
  await worker.machineFallsSilent("shop-hamburg-2");
  const expected: FleetState[] = ["silent", "not-ready"];
  for (;;) {
    const { stdout } = await worker.rollcall(["nodes"]);
    if (expected.every((state) => stdout.includes(state))) return;
    await pause(200);
  }
}

async function takeAll(worker: PageWorker): Promise<void> {
  const browser = await launchChromium();
  try {
    for (const [look, settings] of Object.entries(LOOKS))
      for (const { name, path, isSignedOut, shown } of VIEWS) {
        const choice = { url: worker.url, ...settings };
        await onPage(browser, choice, `${name} ${look}`, async ({ page, screenshot }) => {
          if (!isSignedOut) await signIn(page, worker.adminSecret);
          await page.goto(path);
          await shown(page);
          await page.waitForLoadState("networkidle");
          await screenshot(`${name}-${look}`);
        });
      }
  } finally {
    await browser.close();
  }
}

function copyToDocs(): void {
  mkdirSync(IMAGES, { recursive: true });
  for (const [name, taken] of Object.entries(IN_DOCS)) {
    const file = join(TEST_OUTPUT, `${taken}.png`);
    const { size } = statSync(file);
    if (size > MAX_IMAGE_BYTES) throw new Error(`${file} has ${size} bytes, more than ${MAX_IMAGE_BYTES}`);
    copyFileSync(file, join(IMAGES, `${name}.png`));
  }
}

if (!hasChromium) throw new Error(CHROMIUM_IS_MISSING);
const folder = temporaryFolder();
const started = await startClusterWorker(folder.path);
// Each machine reports every second, because a drawn line has a point for each report.
const worker = pageWorker(started.access, 1000);
try {
  await populate(worker);
  await takeAll(worker);
  copyToDocs();
  console.log(`${VIEWS.length * Object.keys(LOOKS).length} pictures are in ${TEST_OUTPUT}`);
} finally {
  await worker.stop();
  await started.stop();
  folder.remove();
}
