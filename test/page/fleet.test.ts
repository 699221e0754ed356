// The fleet in a browser, as an operator sees it: machines join, fall silent, ask, and are acted on. Nobody has joined before the
// first story; later ones look at machines of earlier ones.
import type { Page } from "playwright-core";
import type { HistoryAnswer } from "../../shared/protocol/operator-answers.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pagesOfFile } from "./browser.ts";
import { hasChromium, PHONE } from "./chromium.ts";
import { framesOf, frameThatTold, noteRow, recordFrames } from "./feed-frames.ts";
import { testKeys } from "./fleet-keys.ts";
import { columnOf, moving, styleOf, tooWide } from "./page-looks.ts";
import { type PageWorker, startPageWorker } from "./page-worker.ts";
import { signIn } from "./sign-in.ts";

/** The machine is shared with other tests. */
const PATIENCE = { timeout: 60_000, interval: 100 };

/** What the page promises: from when silence is noticed to when it is shown. */
const SHOWN_WITHIN_MS = 2000;

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
    worker = await startPageWorker();
  });
  afterAll(() => worker.stop());

  const row = (page: Page, name: string) => page.getByRole("row", { name: new RegExp(`\\b${name}\\b`) });
  const ask = async <T>(page: Page, path: string) =>
    (await (await page.context().request.get(path)).json()) as T;

  it("nobody has joined → how one does; one joins → its row, without a reload, as the API has it", () =>
    open({ url: worker.url }, async ({ page, accessibilityFaults }) => {
      await signIn(page, worker.adminSecret);
      await page.goto("/");
      await page.getByRole("heading", { name: "No machine is here yet" }).waitFor();
      const command = await page.getByRole("main").locator("pre").textContent();
      expect(command).toBe(
        `node-shim join --url ${worker.url} --join-token-file /root/join-token --install-service`,
      );
      expect(await page.getByRole("link", { name: "Make a join token" }).getAttribute("href")).toBe(
        "/?view=tokens",
      );
      expect(await accessibilityFaults()).toEqual([]);
      const loads: string[] = [];
      page.on("load", (loaded) => loads.push(loaded.url()));
      await worker.machineJoins("joins-1");
      await row(page, "joins-1").getByText("ready", { exact: true }).waitFor();
      await page.getByText("1 machine", { exact: true }).waitFor();
      const asked = await ask<Asked>(page, "/v1/nodes/joins-1/summary");
      expect(asked.state).toBe("ready");
      expect(asked.created).not.toBeNull();
      const time = (column: string) =>
        row(page, "joins-1").locator(`.fleet-cell-${column} time`).getAttribute("datetime");
      expect(await time("since")).toBe(new Date(asked.since).toISOString());
      // The feed tells it by the minute.
      expect(await time("age")).toBe(asked.created?.replace(/:\d\d(\.\d+)?Z$/, ":00.000Z"));
      expect(await columnOf(page, "age")).toEqual([expect.stringMatching(/^(<1|\d+)m$/)]);
      expect(await columnOf(page, "version")).toEqual([asked.versions.shim || "–"]);
      expect(loads).toEqual([]);
    }));

  it("falls silent → its row says so by the very message that tells it, without a reload", () =>
    open({ url: worker.url }, async ({ page }) => {
      await worker.machineJoins("quiet-1");
      await signIn(page, worker.adminSecret);
      await recordFrames(page);
      await page.goto("/");
      await row(page, "quiet-1").getByText("ready", { exact: true }).waitFor();
      const shown = await noteRow(page, "quiet-1", "silent");
      await worker.machineFallsSilent("quiet-1");
      const { atMs, frames } = await shown();
      const all = await framesOf(page);
      const told = frameThatTold(all, "quiet-1", ({ state }) => state === "silent");
      expect(told).toBeGreaterThan(0);
      // It is drawn before another message can come.
      expect(frames).toBe(told + 1);
      const { entries } = await ask<HistoryAnswer>(page, "/v1/history?name=quiet-1&kind=state&limit=1");
      expect(entries[0]?.text).toBe("ready → silent");
      const noticedMs = Date.parse(entries[0]?.at ?? "");
      const toldMs = all[told]?.atMs ?? 0;
      // By the times of events, not of looks at them; most often it takes less than a twentieth of this.
      expect(atMs - noticedMs).toBeLessThanOrEqual(SHOWN_WITHIN_MS);
      console.log(
        `silence: noticed → told ${Math.round(toldMs - noticedMs)} ms → shown ${Math.round(atMs - toldMs)} ms`,
      );
      await page.getByRole("button", { name: "1 silent" }).waitFor();
      await page
        .getByRole("group")
        .filter({ hasText: "Silent" })
        .getByRole("link", { name: "quiet-1" })
        .waitFor();
    }));

  it("another machine asks for a name → a badge in the navigation, and it is said what waits", () =>
    open({ url: worker.url }, async ({ page, accessibilityFaults }) => {
      await worker.machineJoins("asked-1");
      await signIn(page, worker.viewSecret);
      await page.goto("/");
      await row(page, "asked-1").waitFor();
      const link = page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: /^Approvals/ });
      expect(await link.textContent()).toBe("Approvals");
      await worker.anotherAsks("asked-1");
      await expect.poll(() => link.textContent(), PATIENCE).toBe("Approvals1");
      await page.getByText("asks for the name of a machine that has reported with another key").waitFor();
      expect(await accessibilityFaults()).toEqual([]);
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
      const touched = dialog.getByRole("region", { name: "Machines that it would touch" });
      expect(await touched.getByRole("listitem").allTextContents()).toEqual([
        "ready: bulk-1",
        "ready: bulk-2",
      ]);
      expect(await accessibilityFaults()).toEqual([]);
      // Nothing was done yet.
      expect((await ask<Asked>(page, "/v1/nodes/bulk-1/summary")).state).toBe("ready");
      await dialog.getByRole("button", { name: "Revoke: 2 machines" }).click();
      await dialog.getByRole("progressbar", { name: "Revoke" }).waitFor();
      await dialog.getByRole("paragraph").getByText("2 machines done", { exact: true }).waitFor();
      await dialog.getByRole("button", { name: "Close", exact: true }).last().click();
      for (const name of ["bulk-1", "bulk-2"])
        await row(page, name).getByText("revoked", { exact: true }).waitFor();
      await row(page, "bulk-3").getByText("ready", { exact: true }).waitFor();
      await bar.getByText("None selected").waitFor();
      const { stdout } = await worker.rollcall(["nodes", "--state", "revoked", "-o", "name"]);
      expect(stdout.trim().split("\n").toSorted()).toEqual(["bulk-1", "bulk-2"]);
    }));

  it("who may only look → no checkbox, nothing to act with", () =>
    open({ url: worker.url }, async ({ page }) => {
      await signIn(page, worker.viewSecret);
      await page.goto("/");
      await row(page, "bulk-3").waitFor();
      await page.getByText("may only look").first().waitFor();
      expect(await page.getByRole("checkbox", { name: /^Select / }).count()).toBe(0);
      expect(await page.getByRole("button", { name: /^Act on/ }).count()).toBe(0);
    }));

  testKeys({ open, worker: () => worker });

  it.each([
    ["light", undefined],
    ["dark", undefined],
    ["light", PHONE],
    ["dark", PHONE],
  ] as const)(
    "in %s, %j → axe finds nothing serious, nothing is wider than the screen or moves",
    (colorScheme, viewport) =>
      open({ url: worker.url, colorScheme, ...(viewport && { viewport }) }, async (opened) => {
        const { page, accessibilityFaults, screenshot } = opened;
        await signIn(page, worker.adminSecret);
        await page.goto("/");
        await page.getByRole("heading", { name: "Needs somebody" }).waitFor();
        await row(page, "quiet-1").waitFor();
        expect(await accessibilityFaults()).toEqual([]);
        expect(await tooWide(page)).toBe(0);
        expect(await moving(page)).toEqual([]);
        await screenshot(`fleet-${colorScheme}${viewport ? "-phone" : ""}-story`);
      }),
  );

  it("a theme is chosen → it is so after a reload, whatever the system has", () =>
    open({ url: worker.url, colorScheme: "light" }, async ({ page }) => {
      const ground = () => styleOf(page, "body", "background-color");
      await signIn(page, worker.viewSecret);
      await page.goto("/");
      await row(page, "bulk-3").waitFor();
      const light = await ground();
      await page.getByLabel("Colours").selectOption("dark");
      await expect.poll(ground, PATIENCE).not.toBe(light);
      const dark = await ground();
      await page.reload();
      await row(page, "bulk-3").waitFor();
      expect(await ground()).toBe(dark);
      expect(await page.getByLabel("Colours").inputValue()).toBe("dark");
    }));

  it("less motion is wished → news is there at once; else it appears within a moment", () =>
    open({ url: worker.url, reducedMotion: "no-preference" }, async ({ page }) => {
      await signIn(page, worker.viewSecret);
      await page.goto("/");
      await row(page, "bulk-3").waitFor();
      await page.evaluate(
        'document.querySelector(".sayings").append(Object.assign(document.createElement("p"), { className: "saying" }))',
      );
      expect(await moving(page)).toEqual(["p.saying animation appear 0.15s"]);
      await page.emulateMedia({ reducedMotion: "reduce" });
      expect(await moving(page)).toEqual([]);
    }));

  it("on paper → the table and what needs somebody, without navigation and tools", () =>
    open({ url: worker.url }, async ({ page, screenshot }) => {
      await signIn(page, worker.adminSecret);
      await page.goto("/");
      await row(page, "quiet-1").waitFor();
      await page.emulateMedia({ media: "print" });
      await page.getByRole("navigation", { name: "Views" }).waitFor({ state: "hidden" });
      const name = row(page, "quiet-1").getByRole("link", { name: "quiet-1" });
      expect((await name.boundingBox())?.width).toBeGreaterThan(100);
      expect(await page.getByRole("heading", { name: "Needs somebody" }).isVisible()).toBe(true);
      expect(await page.getByRole("searchbox").isVisible()).toBe(false);
      await screenshot("fleet-print-story");
    }));
});
