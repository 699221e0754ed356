// Tests the looks of each view and of each form: axe finds no fault at any width, in either theme, live and stale, and
// no page scrolls sideways. test/page/screenshots.ts takes pictures of the views.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pagesOfFile, sharedWorker } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import { faultsOfLooks } from "./page-looks.ts";
import type { PageWorker } from "./page-worker.ts";
import { signIn } from "./sign-in.ts";

/** A view: its name, its path, and a function that opens what is to be seen, and resolves once it is there. */
type View = readonly [name: string, path: string, shown: (page: Page) => Promise<unknown>];

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).first().click();
const text = (pattern: RegExp) => (page: Page) =>
  page.getByRole("main").getByText(pattern).filter({ visible: true }).first().waitFor();
const dialog =
  (...buttons: (string | RegExp)[]) =>
  async (page: Page) => {
    for (const name of buttons) await button(page, name);
    await page.getByRole("dialog").getByRole("button").first().waitFor();
  };
const selected =
  (...buttons: (string | RegExp)[]) =>
  async (page: Page) => {
    await page.getByRole("checkbox", { name: "Select looks-ready" }).click();
    await dialog(...buttons)(page);
  };
/** Resolves once the machine's view has its last section. */
const machine = (pattern: RegExp) => async (page: Page) => {
  await page.locator(".machine-diagnosis").filter({ hasText: pattern }).waitFor();
  await page.locator(".timeline-row rect.band").first().waitFor();
  await page.getByRole("region", { name: "Actions" }).waitFor();
  await page.getByText("As a table").click();
};

const VIEWS: readonly View[] = [
  [
    "the fleet, with open problems",
    "/?q=looks-",
    async (page) => {
      for (const group of await page.locator(".needs-group > summary").all()) await group.click();
      await page.getByRole("row", { name: /looks-maintained.*in maintenance/ }).waitFor();
    },
  ],
  [
    "the fleet in groups",
    "/?q=looks-&group=version",
    (page) => page.getByRole("region", { name: /^Machines by / }).waitFor(),
  ],
  ["no machine that matches", "/?q=looks-none", text(/No machine matches/)],
  ["a ready machine", "/?machine=looks-ready", machine(/Ready; nothing to do/)],
  ["a broken machine", "/?machine=looks-broken", machine(/container runtime is down/)],
  ["a machine that does not report", "/?machine=looks-silent", machine(/Not reporting/)],
  ["a machine in maintenance", "/?machine=looks-maintained", machine(/In maintenance/)],
  ["no machine of this name", "/?machine=looks-none", text(/No machine has this name/)],
  ["the last day", "/?view=day&group=architecture", text(/^All/)],
  ["approvals", "/?view=approvals", text(/looks-asked/)],
  ["tokens", "/?view=tokens", text(/Join tokens/)],
  ["rollout", "/?view=rollout", text(/There is no rollout/)],
  ["audit", "/?view=audit", text(/looks-/)],
  ["notifications", "/?view=notifications", text(/looks-chat/)],
  ["deployment", "/?view=deployment", text(/Readiness: /)],
  ["the keys", "/?q=looks-", dialog("Keys")],
  ["the form of an action on many", "/?q=looks-", selected("Act on it …")],
  ["the form of a mute", "/?q=looks-", selected("Mute …")],
  ["the form of a maintenance", "/?q=looks-", selected("Maintenance …")],
  ["the form of a token", "/?view=tokens", dialog("New token")],
  ["the form of a receiver", "/?view=notifications", dialog("New receiver")],
  ["the form of a mute by labels", "/?view=notifications", dialog("New mute")],
  ["the form of a rollout", "/?view=rollout", dialog("New rollout")],
  ["the form of an approval", "/?view=approvals", dialog("Approve")],
];

describe.skipIf(!hasChromium)("the looks of", () => {
  const open = pagesOfFile();
  let worker: PageWorker;
  beforeAll(async () => {
    worker = await sharedWorker();
    for (const name of ["ready", "broken", "silent", "maintained", "asked", "short"])
      await worker.machineJoins(`looks-${name}`);
    await worker.fault("looks-broken", "not ready");
    await worker.pressure("looks-short", true);
    await worker.machineFallsSilent("looks-silent");
    await worker.anotherAsks("looks-asked");
    const { rollcall } = worker;
    await rollcall([
      "node",
      "maintenance",
      "looks-maintained",
      "begin",
      "--until",
      "4h",
      "--comment",
      "disk",
    ]);
    await rollcall(["receivers", "add", "looks-chat", "--to", "http://127.0.0.1:9/"]);
  });
  afterAll(async () => {
    await worker.rollcall(["receivers", "remove", "looks-chat", "--yes"]);
    await worker.stop();
  });

  it("the sign-in", () =>
    open({ url: worker.url }, async (opened) => {
      await opened.page.goto("/");
      await opened.page.getByLabel("Secret or one-time code").waitFor();
      expect(await faultsOfLooks(opened)).toEqual([]);
    }));

  it.each(VIEWS)("%s", (_, path, shown) =>
    open({ url: worker.url }, async (opened) => {
      const { page } = opened;
      if (path.includes("machine=looks-none")) opened.expectFault(/looks-none.* → 404$/);
      await signIn(page, worker.adminSecret);
      await page.goto(path);
      await page.getByRole("main").getByRole("heading").first().waitFor();
      await shown(page);
      await expect.poll(() => page.getByText(/^Loading/).count()).toBe(0);
      expect(await faultsOfLooks(opened)).toEqual([]);
    }),
  );
});
