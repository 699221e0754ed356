// Tests one machine in a browser: the diagnosis in a sentence, and its states over time, drawn and as a table.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pagesOfFile, sharedWorker } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import type { PageWorker } from "./page-worker.ts";
import { signIn } from "./sign-in.ts";
import { bandsOf, during, linesOf, type TimelineLine } from "./timeline-shown.ts";

const MINUTE = 60_000;
/** The duration of the silence in milliseconds: long enough to see it in the drawing. */
const SILENT_MS = 2000;

/**
 * Waits until `ms` have passed since `fromMs`. A Node's times are whole seconds, so a state that ends within one
 * second has no duration.
 */
const lasts = (fromMs: number, ms: number) =>
  expect.poll(() => Date.now()).toBeGreaterThanOrEqual(fromMs + ms);

describe.skipIf(!hasChromium)("a machine", () => {
  const open = pagesOfFile();
  let worker: PageWorker;
  beforeAll(async () => {
    worker = await sharedWorker();
  });
  afterAll(() => worker.stop());

  const sentence = (page: Page) => page.locator(".machine-sentence");
  /** Waits until the machine's diagnosis matches. */
  const says = (page: Page, pattern: RegExp) =>
    page.locator(".machine-diagnosis").filter({ hasText: pattern }).waitFor();

  describe("over time", () => {
    /**
     * Returns the last line of the timeline's table with this text for which `isSo` returns true. Waits until there
     * is one.
     */
    async function lineOf(page: Page, what: string, isSo: (line: TimelineLine) => boolean) {
      let found: TimelineLine | undefined;
      const look = async () => {
        found = (await linesOf(page)).findLast((line) => line.what === what && isSo(line));
        return found !== undefined;
      };
      await expect.poll(look).toBe(true);
      return found as TimelineLine;
    }

    it("a pressure, a silence and a boot are where the test caused them, drawn and in the table", () =>
      open({ url: worker.url, timezoneId: "UTC" }, async ({ page }) => {
        await worker.machineJoins("story-1");
        await signIn(page, worker.adminSecret);
        const second = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
        const window = { fromMs: Math.floor(Date.now() / 1000) * 1000 - MINUTE, toMs: 0 };
        window.toMs = window.fromMs + 4 * MINUTE;
        await page.goto(`/?machine=story-1&from=${second(window.fromMs)}&to=${second(window.toMs)}`);
        await page.getByText("As a table").click();

        const shortMs = Date.now();
        await worker.pressure("story-1", true);
        const isShortMs = Date.now();
        const still = await lineOf(page, "MemoryPressure: True", ({ toMs }) => toMs === undefined);
        await says(page, /Ready, with one warning\..*MemoryPressure is True/);
        expect(still.fromMs).toBeGreaterThanOrEqual(Math.floor(shortMs / 1000) * 1000);
        expect(still.fromMs).toBeLessThanOrEqual(isShortMs);
        await lasts(still.fromMs, 1000);
        const enoughMs = Date.now();
        await worker.pressure("story-1", false);
        const over = await lineOf(page, "MemoryPressure: True", ({ toMs }) => typeof toMs === "number");
        expect(over.fromMs).toBe(still.fromMs);
        expect(over.toMs).toBeGreaterThanOrEqual(Math.floor(enoughMs / 1000) * 1000);
        expect(over.toMs).toBeLessThanOrEqual(Date.now());

        const quietMs = Date.now();
        await worker.machineFallsSilent("story-1");
        await lineOf(page, "State: Not reporting", ({ toMs }) => toMs === undefined);
        await says(page, /Not reporting.*Last report.*Check the machine’s power and network/);
        const noticedMs = Date.now();
        await lasts(noticedMs, SILENT_MS + 1000);
        await worker.machineReturns("story-1");
        const silence = await lineOf(page, "State: Not reporting", ({ toMs }) => typeof toMs === "number");
        // The silence begins with the last report.
        expect(silence.fromMs).toBeGreaterThanOrEqual(Math.floor(quietMs / 1000) * 1000);
        expect(silence.fromMs).toBeLessThanOrEqual(noticedMs);
        expect(silence.toMs).toBeGreaterThanOrEqual(Math.floor(noticedMs / 1000) * 1000);
        const reboot = await lineOf(page, "reboot", () => true);
        expect(reboot.fromMs).toBeGreaterThanOrEqual(Math.floor(noticedMs / 1000) * 1000);
        expect(reboot.toMs).toBeNull();

        const memory = await bandsOf(page, "MemoryPressure", window);
        const pressures = memory.filter(({ look }) => look === "bad");
        expect(pressures).toHaveLength(1);
        // The table has whole seconds, and a drawn band whole pixels.
        expect(Math.abs((pressures[0]?.fromMs ?? 0) - over.fromMs)).toBeLessThan(1500);
        expect(Math.abs((pressures[0]?.toMs ?? 0) - (over.toMs ?? 0))).toBeLessThan(1500);
        for (const track of ["State", "Ready", "MemoryPressure"]) {
          const shown = during(await bandsOf(page, track, window), noticedMs, noticedMs + SILENT_MS);
          expect(shown, track).toEqual(["silent"]);
        }
        // After its first good band, each track shows only the silence: the reboot adds no further band. The bands
        // before the first written report are left out.
        for (const track of ["State", "Ready"]) {
          const looks = (await bandsOf(page, track, window)).map(({ look }) => look);
          expect(looks.slice(looks.indexOf("good")), track).toEqual(["good", "silent", "good"]);
        }
        // Marks close to each other are drawn as one mark, which leads to the line of the first event.
        const mark = page.getByRole("button", { name: /reboot/ });
        const said = await mark.getAttribute("title");
        await mark.click();
        const opened = page.getByRole("dialog", { name: "Events of the mark" });
        await opened
          .getByText(/reboot/)
          .first()
          .waitFor();
        await opened.getByRole("button", { name: "Show in the table" }).click();
        const line = await page.locator("tr:focus .what").textContent();
        expect(said).toContain(line);
      }));
  });

  it("its Node was deleted, and it is registered again → ready, without a reload", () =>
    open({ url: worker.url }, async ({ page }) => {
      await worker.machineJoins("again-1");
      await worker.deleteNode("again-1");
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=again-1");
      await says(page, /The Node was deleted while it was Ready/);
      await page.locator(".machine-diagnosis").getByRole("button", { name: "Register again …" }).click();
      const dialog = page.getByRole("dialog", { name: "Register again: again-1" });
      await dialog.getByText("is created with the next report").waitFor();
      await dialog.getByRole("button", { name: "Register again" }).click();
      await page.getByText("again-1: registers with its next report.").waitFor();
      await worker.machineReports("again-1");
      await expect.poll(() => sentence(page).innerText()).toBe("Ready; nothing to do.");
    }));

  it("a range is dragged → the arrow keys move it, and the browser's back button returns to the range before", () =>
    open({ url: worker.url }, async ({ page }) => {
      await worker.machineJoins("zoom-1");
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=zoom-1&range=24h");
      const band = page.locator(".timeline-band").first();
      const box = await band.boundingBox();
      if (!box) throw new Error("no bands are drawn");
      await page.mouse.move(box.x + box.width - 200, box.y + 5);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width - 100, box.y + 5);
      await page.mouse.up();
      const from = () => new URL(page.url()).searchParams.get("from");
      await expect.poll(from).not.toBeNull();
      const dragged = from();
      await page.keyboard.press("ArrowLeft");
      await expect.poll(from).not.toBe(dragged);
      await page.goBack();
      await expect.poll(() => new URL(page.url()).searchParams.get("range")).toBe("24h");
      await page.getByRole("heading", { level: 1, name: "zoom-1" }).waitFor();
    }));

  it("revoked by an operator → the dialog demands the name", () =>
    open({ url: worker.url }, async ({ page }) => {
      await worker.machineJoins("revoke-1");
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=revoke-1#actions");
      const actions = page.getByRole("region", { name: "Actions" });
      await actions.getByText(/^Others/).click();
      await actions.getByRole("button", { name: "Revoke …" }).click();
      const dialog = page.getByRole("dialog", { name: "Revoke: revoke-1" });
      const revoke = dialog.getByRole("button", { name: "Revoke" });
      expect(await revoke.isDisabled()).toBe(true);
      await dialog.getByLabel("Type its name").fill("revoke-1");
      await revoke.click();
      await page.getByText("revoke-1: its keys are refused for ever.").waitFor();
    }));

  it("opened before its code is loaded → its state and reason, as the feed has them", () =>
    open({ url: worker.url }, async ({ page }) => {
      await worker.machineJoins("early-1");
      await worker.fault("early-1", "not ready");
      await signIn(page, worker.adminSecret);
      let load = () => {};
      const loading = new Promise<void>((resolve) => (load = resolve));
      await page.route(/\/page\/machine-view-/, async (route) => {
        await loading;
        await route.continue();
      });
      await page.goto("/?machine=early-1");
      await page.getByRole("main").getByText("Not ready").waitFor();
      await page
        .getByRole("main")
        .getByText(/container runtime is down/)
        .waitFor();
      load();
      await says(page, /Not Ready: .*container runtime is down/);
    }));

  it("parts of it cannot be asked → each says what failed, and the rest is there, as what was before", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      expectFault(/^GET \/v1\/nodes\/errs-1.* → 50[03]$/);
      await worker.machineJoins("errs-1");
      await signIn(page, worker.adminSecret);
      const fail = (path: RegExp, status: number) =>
        page.route(path, (route) => route.fulfill({ status, contentType: "text/plain", body: "no" }));
      await fail(/\/v1\/nodes\/errs-1\/timeline/, 503);
      await fail(/\/v1\/nodes\/errs-1\/history/, 500);
      await page.goto("/?machine=errs-1");
      await page.getByText("The timeline could not be read: the Worker answered 503.").waitFor();
      await page.getByText("Its history could not be read: the Worker answered 500.").waitFor();
      await expect.poll(() => sentence(page).innerText()).toBe("Ready; nothing to do.");
      await page.getByRole("region", { name: "Facts" }).getByText("Simulated Linux").waitFor();
      await fail(/\/v1\/nodes\/errs-1$/, 503);
      await page.getByRole("button", { name: "Refresh" }).click();
      await page.getByText("errs-1 could not be read: the Worker answered 503.").waitFor();
      await page.getByRole("region", { name: "Facts" }).getByText("Simulated Linux").waitFor();
      await page.unrouteAll();
      for (const what of [
        "errs-1 could not be read",
        "The timeline could not be read",
        "Its history could not be read",
      ]) {
        const notice = page.getByRole("alert").filter({ hasText: what });
        await notice.getByRole("button", { name: "Try again" }).click();
        await notice.waitFor({ state: "detached" });
      }
      await page.getByText("As a table").waitFor();
    }));

  it("has a runtime error → an operator who opens the link reads it, and what to do; on paper", () =>
    open({ url: worker.url }, async ({ page }) => {
      await worker.machineJoins("broken-1");
      await worker.fault("broken-1", "not ready");
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=broken-1&range=1h");
      await page.getByRole("heading", { level: 1, name: "broken-1" }).waitFor();
      await says(page, /Not Ready: .*container runtime is down/);
      await says(page, /Check the container runtime on the machine/);
      await page.getByText("As a table").click();
      await page.getByRole("region", { name: "Facts" }).getByText("Simulated Linux").waitFor();
      await page.getByRole("button", { name: "Ignore missing runtime …" }).first().waitFor();
      await page.emulateMedia({ media: "print" });
      await page.getByRole("navigation", { name: "Views" }).waitFor({ state: "hidden" });
      expect(await sentence(page).isVisible()).toBe(true);
      const band = page.locator(".timeline-row rect.band").first();
      await band.waitFor();
      expect((await band.boundingBox())?.width).toBeGreaterThan(0);
      expect((await page.locator(".timeline-band").first().boundingBox())?.width).toBeGreaterThan(500);
    }));
});
