// Going through the page and back: where the focus is, what is on the screen, what is in the address.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pagesOfFile } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import { type PageWorker, startPageWorker } from "./page-worker.ts";
import { signIn } from "./sign-in.ts";

describe.skipIf(!hasChromium)("going through the page", () => {
  const open = pagesOfFile();
  let worker: PageWorker;
  beforeAll(async () => {
    worker = await startPageWorker({ withCluster: false });
    await worker.fillIndex(1000);
  });
  afterAll(() => worker.stop());

  it("a row far below, its machine, and back → the machine has the focus, then its row, where it was", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      // These machines have no objects.
      expectFault(/\/v1\/nodes\/machine-/);
      const focused = () => page.evaluate<string>("document.activeElement.textContent.trim()");
      const scrolled = () => page.evaluate<number>("document.querySelector('[data-scrolls]').scrollTop");
      await signIn(page, worker.adminSecret);
      await page.goto("/?q=machine&sort=name");
      await page.getByRole("row", { name: /machine-000000/ }).waitFor();
      await page.keyboard.press("Shift+G");
      await expect.poll(focused).toBe("machine-000999");
      const before = await scrolled();
      expect(before).toBeGreaterThan(10_000);
      await page.keyboard.press("o");
      await page.getByRole("heading", { level: 1, name: "machine-000999" }).waitFor();
      expect(await page.evaluate("[document.activeElement.id, document.title]")).toEqual([
        "main",
        "machine-000999 · rollcall",
      ]);
      await page.goBack();
      await expect.poll(focused).toBe("machine-000999");
      expect(Math.abs((await scrolled()) - before)).toBeLessThan(100);
      await page.keyboard.press("o");
      await page.getByRole("heading", { level: 1, name: "machine-000999" }).waitFor();
      await page.keyboard.press("u");
      await page.getByRole("row", { name: /machine-000000/ }).waitFor();
      expect(new URL(page.url()).search).toBe("?q=machine&sort=name");
    }));

  it("the link to the content → the content has the focus, and nothing else has changed", () =>
    open({ url: worker.url }, async ({ page }) => {
      await signIn(page, worker.adminSecret);
      await page.goto("/?q=machine");
      await page.getByRole("row", { name: /machine-000000/ }).waitFor();
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("main");
      expect(new URL(page.url()).search).toBe("?q=machine");
    }));
});
