// Tests the fleet in a browser, as an operator uses it: machines join, stop reporting, ask for approval, and are
// acted on. Machines of other test files also appear.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pagesOfFile, sharedWorker } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import { testKeys } from "./fleet-keys.ts";
import { columnOf, moving, styleOf } from "./page-looks.ts";
import type { PageWorker } from "./page-worker.ts";
import { signIn } from "./sign-in.ts";

interface Asked {
  state: string;
  since: string;
  created: string | null;
  versions: { shim: string; kernel: string };
}

describe.skipIf(!hasChromium)("the fleet", () => {
  const open = pagesOfFile();
  let worker: PageWorker;
  beforeAll(async () => {
    worker = await sharedWorker();
  });
  afterAll(() => worker.stop());

  const row = (page: Page, name: string) => page.getByRole("row", { name: new RegExp(`\\b${name}\\b`) });
  const ask = async <T>(page: Page, path: string) =>
    (await (await page.context().request.get(path)).json()) as T;

  it("a machine joins → its row, without a reload, as the API has it; it stops reporting → its row says so, and it needs attention", () =>
    open({ url: worker.url }, async ({ page }) => {
      await worker.machineJoins("before-1");
      await signIn(page, worker.adminSecret);
      await page.goto("/?q=joins-1");
      await page.getByText(/^0 of \d+ machine/).waitFor();
      const loads: string[] = [];
      page.on("load", (loaded) => loads.push(loaded.url()));
      await worker.machineJoins("joins-1");
      await row(page, "joins-1").getByText("Ready", { exact: true }).waitFor();
      await page.getByText(/^1 of \d+ machines?$/).waitFor();
      const asked = await ask<Asked>(page, "/v1/nodes/joins-1/summary");
      expect(asked.state).toBe("ready");
      expect(asked.created).not.toBeNull();
      const time = (column: string) =>
        row(page, "joins-1").locator(`.fleet-cell-${column} time`).getAttribute("datetime");
      expect(await time("since")).toBe(new Date(asked.since).toISOString());
      // The feed sends the time of creation in whole minutes.
      expect(await time("age")).toBe(asked.created?.replace(/:\d\d(\.\d+)?Z$/, ":00.000Z"));
      expect(await columnOf(page, "age")).toEqual([expect.stringMatching(/^(<1|\d+)m$/)]);
      expect(await columnOf(page, "version")).toEqual([asked.versions.shim || "–"]);

      await worker.machineFallsSilent("joins-1");
      await row(page, "joins-1").getByText("Not reporting", { exact: true }).waitFor();
      await page.getByRole("button", { name: /^\d+ Not reporting$/ }).waitFor();
      await page.getByRole("heading", { name: /^Not reporting/ }).click();
      const silent = page.getByRole("group").filter({ hasText: "Not reporting" });
      await silent.getByRole("link", { name: "joins-1" }).waitFor();
      expect(loads).toEqual([]);
    }));

  it("another machine asks for a name → a badge in the navigation, and it is said what waits", () =>
    open({ url: worker.url }, async ({ page }) => {
      await worker.machineJoins("asked-1");
      await signIn(page, worker.viewSecret);
      await page.goto("/?q=asked-1");
      await row(page, "asked-1").waitFor();
      await worker.anotherAsks("asked-1");
      const views = page.getByRole("navigation", { name: "Views" });
      await views.getByRole("link", { name: /^Approvals\s*[1-9]/ }).waitFor();
      await page.getByRole("heading", { name: /^Waiting for approval/ }).click();
      const waiting = page.getByRole("group").filter({ has: page.getByRole("link", { name: "asked-1" }) });
      await waiting
        .getByText("asks for the name of a machine that has reported with another key")
        .first()
        .waitFor();
    }));

  it("two are selected → listed with what becomes of them, revoked, counted; the third goes on", () =>
    open({ url: worker.url }, async ({ page, accessibilityFaults }) => {
      for (const number of [1, 2, 3]) await worker.machineJoins(`bulk-${number}`);
      await signIn(page, worker.adminSecret);
      await page.goto("/?q=bulk-");
      await row(page, "bulk-3").waitFor();
      await page.getByRole("checkbox", { name: "Select bulk-1" }).click();
      await page.getByRole("checkbox", { name: "Select bulk-2" }).click();
      const bar = page.getByRole("region", { name: "Acting on many machines" });
      await bar.getByText("2 selected").waitFor();
      await bar.getByRole("button", { name: "Act on them …" }).click();
      const dialog = page.getByRole("dialog", { name: "Act on 2 machines" });
      await dialog.getByRole("button", { name: "Revoke …" }).click();
      await dialog.getByText("Revoke: 2 machines.").waitFor();
      await dialog.getByText("its keys are refused for ever, and its Node goes NotReady").waitFor();
      const touched = dialog.getByRole("region", { name: "Machines that it would change" });
      expect(await touched.getByRole("listitem").allTextContents()).toEqual([
        "ready: bulk-1",
        "ready: bulk-2",
      ]);
      expect(await accessibilityFaults()).toEqual([]);
      // Before the confirmation, no machine has been revoked.
      expect((await ask<Asked>(page, "/v1/nodes/bulk-1/summary")).state).toBe("ready");
      await dialog.getByRole("button", { name: "Revoke: 2 machines" }).click();
      await dialog.getByRole("progressbar", { name: "Revoke" }).waitFor();
      await dialog.getByRole("paragraph").getByText("2 machines revoked", { exact: true }).waitFor();
      await dialog.getByRole("button", { name: "Close", exact: true }).last().click();
      for (const name of ["bulk-1", "bulk-2"])
        await row(page, name).getByText("Revoked", { exact: true }).waitFor();
      await row(page, "bulk-3").getByText("Ready", { exact: true }).waitFor();
      await bar.getByText("selected").waitFor({ state: "detached" });
      const { stdout } = await worker.rollcall(["nodes", "--state", "revoked", "-o", "name"]);
      expect(stdout.match(/^bulk-.*$/gm)?.toSorted()).toEqual(["bulk-1", "bulk-2"]);
    }));

  it("two are selected → in maintenance until a time, as their rows and Nodes state; the first ends it in its own view", () =>
    open({ url: worker.url }, async ({ page, accessibilityFaults }) => {
      for (const number of [1, 2]) await worker.machineJoins(`maintained-${number}`);
      await signIn(page, worker.adminSecret);
      await page.goto("/?q=maintained-");
      await row(page, "maintained-2").waitFor();
      for (const number of [1, 2])
        await page.getByRole("checkbox", { name: `Select maintained-${number}` }).click();
      await page.getByRole("button", { name: "Maintenance …" }).click();
      const dialog = page.getByRole("dialog", { name: "Maintenance: 2 machines" });
      const begin = dialog.getByRole("button", { name: "Begin maintenance" });
      const until = dialog.getByLabel("Until");
      await until.fill("2020-01-01T12:00");
      await dialog.getByText("Expected: a time in the next 30 days.").waitFor();
      expect(await begin.isDisabled()).toBe(true);
      expect(await accessibilityFaults()).toEqual([]);
      await until.fill(`${new Date(Date.now() + 24 * 3600_000).toISOString().slice(0, 10)}T12:00`);
      await dialog.getByLabel("Why").fill("new disk");
      await begin.click();
      await dialog.waitFor({ state: "detached" });
      for (const number of [1, 2])
        await row(page, `maintained-${number}`).getByText("in maintenance").waitFor();
      await page.goto("/?machine=maintained-1");
      await page.getByText(/In maintenance until .+, by admin secret: new disk/).waitFor();
      await page.getByRole("button", { name: "Maintenance …" }).first().click();
      await page.getByRole("dialog").getByRole("button", { name: "End maintenance" }).click();
      await page.getByText("Ready; nothing to do.").waitFor();
      const { stdout } = await worker.rollcall([
        "nodes",
        "--condition",
        "MaintenanceInProgress",
        "-o",
        "name",
      ]);
      expect(stdout.match(/^maintained-.*$/gm)).toEqual(["maintained-2"]);
    }));

  it("the role view → the page offers nothing that the Worker would refuse: no checkbox, nothing to act with, no new token", () =>
    open({ url: worker.url }, async ({ page }) => {
      await worker.machineJoins("looked-at-1");
      await signIn(page, worker.viewSecret);
      await page.goto("/?q=looked-at-1");
      await row(page, "looked-at-1").waitFor();
      await page.getByText("read-only").first().waitFor();
      expect(await page.getByRole("checkbox", { name: /^Select / }).count()).toBe(0);
      expect(await page.getByRole("button", { name: /^Act on/ }).count()).toBe(0);
      await page.getByRole("link", { name: "Tokens" }).click();
      await page.getByRole("heading", { name: "Join tokens" }).waitFor();
      await page.getByRole("table").first().waitFor();
      expect(await page.getByRole("button", { name: "New token" }).count()).toBe(0);
      expect(await page.getByRole("button", { name: "Revoke" }).count()).toBe(0);
    }));

  testKeys({ open, worker: () => worker });

  it("on paper → the table and what needs attention, without navigation and tools", () =>
    open({ url: worker.url }, async ({ page }) => {
      await worker.machineJoins("paper-1");
      await worker.fault("paper-1", "not ready");
      await signIn(page, worker.adminSecret);
      await page.goto("/?q=paper-1");
      await page.getByRole("heading", { name: "Needs attention" }).waitFor();
      await row(page, "paper-1").getByText("Not ready", { exact: true }).waitFor();
      await page.emulateMedia({ media: "print" });
      await page.getByRole("navigation", { name: "Views" }).waitFor({ state: "hidden" });
      const name = row(page, "paper-1").getByRole("link", { name: "paper-1" });
      expect((await name.boundingBox())?.width).toBeGreaterThan(100);
      expect(await page.getByRole("heading", { name: "Needs attention" }).isVisible()).toBe(true);
      expect(await page.getByRole("searchbox").isVisible()).toBe(false);
    }));

  it("a theme is chosen → it is so after a reload, whatever the system has; news moves, unless less motion is wished", () =>
    open({ url: worker.url, colorScheme: "light", reducedMotion: "no-preference" }, async ({ page }) => {
      const ground = () => styleOf(page, "body", "background-color");
      const shown = () => page.getByRole("navigation", { name: "Views" }).waitFor();
      await signIn(page, worker.viewSecret);
      await page.goto("/?view=tokens");
      await shown();
      const light = await ground();
      await page.getByLabel("Colours").selectOption("dark");
      await expect.poll(ground).not.toBe(light);
      const dark = await ground();
      await page.reload();
      await shown();
      expect(await ground()).toBe(dark);
      expect(await page.getByLabel("Colours").inputValue()).toBe("dark");
      await page.evaluate(
        'document.querySelector(".messages").append(Object.assign(document.createElement("p"), { className: "message" }))',
      );
      expect(await moving(page)).toEqual(["p.message animation appear 0.15s"]);
      await page.emulateMedia({ reducedMotion: "reduce" });
      expect(await moving(page)).toEqual([]);
    }));
});
