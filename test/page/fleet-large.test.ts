// Ten thousand machines in a browser: rows, search, order, pages, CSV; and a page whose feed or Worker is out of reach.
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pagesOfFile } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import { framesOf, recordFrames } from "./feed-frames.ts";
import { columnOf, styleOf } from "./page-looks.ts";
import { type PageWorker, startPageWorker } from "./page-worker.ts";
import { signIn } from "./sign-in.ts";

const MACHINES = 10_000;
/** Every fiftieth is silent. */
const SILENT = MACHINES / 50;
/** However many machines there are. */
const MOST_ROWS_DRAWN = 200;
/** The page says that it is stale after so long without a word. */
const STALE_AFTER_MS = 5000;
/** The machine is shared with other tests. */
const PATIENCE = { timeout: 60_000, interval: 100 };

describe.skipIf(!hasChromium)("ten thousand machines", () => {
  const open = pagesOfFile();
  let worker: PageWorker;
  beforeAll(async () => {
    worker = await startPageWorker({ withCluster: false });
    await worker.fillIndex(MACHINES);
  });
  afterAll(() => worker.stop());

  /** Signed in, with the fleet there. */
  const fleet = (work: (page: Page) => Promise<void>, path = "/", expected: RegExp[] = []) =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      for (const fault of expected) expectFault(fault);
      await signIn(page, worker.adminSecret);
      await recordFrames(page);
      await page.goto(path);
      await page
        .getByRole("row", { name: /machine-\d+/ })
        .first()
        .waitFor();
      await work(page);
    });
  const row = (page: Page, name: string) => page.getByRole("row", { name: new RegExp(`\\b${name}\\b`) });
  const drawn = (page: Page) => page.locator("tbody tr[data-index]").count();
  const said = (page: Page, text: string) => page.getByText(text, { exact: true }).waitFor();
  const names = (page: Page) => columnOf(page, "name");
  /** As the API has them now. */
  const counts = async (page: Page) => {
    const answer = await page.context().request.get("/v1/machines?limit=1");
    return ((await answer.json()) as { counts: { fleet: Record<string, number> } }).counts.fleet;
  };

  it("rows are there, some of them drawn; the counts are the API's; axe finds nothing serious", () =>
    open({ url: worker.url }, async ({ page, accessibilityFaults }) => {
      await signIn(page, worker.adminSecret);
      await page.goto("/");
      await said(page, "10,000 machines");
      expect(await drawn(page)).toBeLessThan(MOST_ROWS_DRAWN);
      const fleetCounts = await counts(page);
      expect(fleetCounts).toMatchObject({ ready: MACHINES - SILENT, silent: SILENT });
      const filters = page.getByRole("group", { name: "Machines by state" });
      for (const [state, count] of Object.entries(fleetCounts))
        await filters
          .getByRole(state === "pending" ? "link" : "button", {
            name: `${count.toLocaleString("en")} ${state}`,
            exact: true,
          })
          .waitFor();
      expect(await accessibilityFaults()).toEqual([]);
    }));

  it("scrolled to the end → the last one, and no more of them drawn than before", () =>
    fleet(async (page) => {
      await row(page, "machine-000000").waitFor();
      await page.locator(".fleet-scroll").hover();
      await page.evaluate("document.querySelector('.fleet-scroll').scrollTo(0, 1e9)");
      await row(page, "machine-009999").waitFor();
      expect((await names(page)).at(-1)).toBe("machine-009999");
      expect(await drawn(page)).toBeLessThan(MOST_ROWS_DRAWN);
      expect(await row(page, "machine-000000").count()).toBe(0);
      expect(await row(page, "machine-009999").getAttribute("aria-rowindex")).toBe(String(MACHINES + 1));
    }, "/?sort=name"));

  it("a search narrows; the URL has it, a reload and going back keep it; what cannot be read is said", () =>
    fleet(async (page) => {
      const field = page.getByRole("searchbox", { name: "Search machines" });
      const found = async (count: string, first: string) => {
        await said(page, count);
        expect((await names(page))[0]).toBe(first);
      };
      await field.fill("state:silent");
      await found(`${SILENT} of 10,000 machines`, "machine-000000");
      await field.fill("machine-0099 state:silent");
      await found("2 of 10,000 machines", "machine-009900");
      await field.fill("machine-00999");
      await found("10 of 10,000 machines", "machine-009990");
      await expect.poll(() => new URL(page.url()).searchParams.get("q"), PATIENCE).toBe("machine-00999");
      await page.reload();
      await found("10 of 10,000 machines", "machine-009990");
      expect(await field.inputValue()).toBe("machine-00999");
      await page.getByRole("link", { name: "Tokens" }).click();
      await page.getByRole("heading", { name: "Join tokens" }).waitFor();
      await page.goBack();
      await found("10 of 10,000 machines", "machine-009990");
      await field.fill("machine-00999 state:asleep");
      await page.getByRole("alert").getByText("state:asleep").waitFor();
      expect((await names(page))[0]).toBe("machine-009990");
    }, "/?sort=name"));

  it("numbered pages → a hundred rows each, the last one by its link, by the URL again", () =>
    fleet(async (page) => {
      await page.getByLabel("How to go through the rows").selectOption("pages");
      const pages = page.getByRole("navigation", { name: "Pages of the table" });
      await pages.getByRole("link", { name: "100", exact: true }).click();
      await row(page, "machine-009999").waitFor();
      expect(await names(page)).toHaveLength(100);
      expect((await names(page))[0]).toBe("machine-009900");
      await page.reload();
      await row(page, "machine-009900").waitFor();
      await pages.getByRole("link", { name: "Previous" }).click();
      await row(page, "machine-009800").waitFor();
      await page.goBack();
      await row(page, "machine-009900").waitFor();
    }, "/?sort=name"));

  it("a column's head → ordered by it, and again the other way round", () =>
    fleet(async (page) => {
      const head = page.getByRole("columnheader", { name: "Name" });
      await head.getByRole("button").click();
      await row(page, "machine-000000").waitFor();
      expect(await head.getAttribute("aria-sort")).toBe("ascending");
      expect((await names(page)).slice(0, 2)).toEqual(["machine-000000", "machine-000001"]);
      await head.getByRole("button").click();
      await row(page, "machine-009999").waitFor();
      expect(await head.getAttribute("aria-sort")).toBe("descending");
      expect((await names(page)).slice(0, 2)).toEqual(["machine-009999", "machine-009998"]);
      expect(new URL(page.url()).searchParams.get("sort")).toBe("-name");
    }));

  it("CSV → a line for each machine that matches, and the columns' names", () =>
    fleet(async (page) => {
      await said(page, `${SILENT} of 10,000 machines`);
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "CSV" }).click(),
      ]);
      expect(download.suggestedFilename()).toBe("machines.csv");
      const lines = readFileSync(await download.path(), "utf8")
        .trim()
        .split("\r\n");
      expect(lines[0]).toMatch(/^name,state,since,/);
      expect(lines).toHaveLength(SILENT + 1);
      expect(lines.slice(1).every((line) => line.includes(",silent,"))).toBe(true);
    }, "/?q=state%3Asilent"));

  it("on paper → all rows that match, without gaps", () =>
    fleet(async (page) => {
      // A browser lays it out at once: what is drawn later is not on it.
      const printed = (await page.pdf({ format: "A4" })).toString("latin1");
      const pages = Math.max(...[...printed.matchAll(/\/Count (\d+)/g)].map(([, count]) => Number(count)));
      expect(pages).toBeGreaterThan(3);
      expect(pages).toBeLessThan(10);
      await page.emulateMedia({ media: "print" });
      await expect.poll(() => drawn(page), PATIENCE).toBe(SILENT);
      expect(await page.locator(".fleet-gap").filter({ visible: true }).count()).toBe(0);
      expect(await styleOf(page, ".fleet-scroll", "max-height")).toBe("none");
    }, "/?q=state%3Asilent"));

  const OUT_OF_REACH = [/net::ERR_/, /^console: WebSocket connection to /];
  const word = (page: Page, connection: string) =>
    page.getByRole("status").getByText(connection, { exact: true }).waitFor(PATIENCE);

  /** `falling`: a machine that falls silent meanwhile. */
  async function staleAndBack(page: Page, cut: () => Promise<void>, falling: string) {
    const before = await names(page);
    expect(await styleOf(page, "main", "filter")).toBe("none");
    await cut();
    const banner = page.getByRole("alert").filter({ hasText: "no word from the Worker since" });
    await banner.waitFor(PATIENCE);
    const sinceMs = Date.parse((await banner.locator("time").first().getAttribute("datetime")) ?? "");
    expect(await page.evaluate<number>("Date.now()")).toBeGreaterThanOrEqual(sinceMs + STALE_AFTER_MS);
    await word(page, "stale");
    expect(await styleOf(page, "main", "filter")).toBe("grayscale(1)");
    expect(await names(page)).toEqual(before);
    const frames = (await framesOf(page)).length;
    worker.restore();
    await word(page, "live");
    await banner.waitFor({ state: "detached" });
    expect(await styleOf(page, "main", "filter")).toBe("none");
    await row(page, falling).getByText("silent", { exact: true }).waitFor();
    await said(page, "10,000 machines");
    const { silent } = await counts(page);
    await page.getByRole("button", { name: `${silent} silent` }).waitFor();
    const after = await names(page);
    expect(new Set(after).size).toBe(after.length);
    // The page was not loaded anew: what came before is there. It went on where it had stopped.
    const types = (await framesOf(page)).slice(frames).map(({ message }) => message.type);
    expect(types).toContain("hello");
    expect(types).not.toContain("snapshot");
  }

  it("the feed is out of reach → stale after 5 s, all of it there in grey; back → the changes, once each", () =>
    fleet(
      (page) =>
        staleAndBack(
          page,
          async () => {
            worker.cutFeed();
            // The third of them falls silent by it.
            await worker.changeIndex(4);
          },
          "machine-000002",
        ),
      "/",
      OUT_OF_REACH,
    ));

  it("all of the Worker is out of reach → the same; whose session ended meanwhile gets the form", () =>
    fleet(
      (page) =>
        open({ url: worker.url }, async ({ page: other, expectFault }) => {
          for (const fault of [...OUT_OF_REACH, /→ 403/]) expectFault(fault);
          await signIn(other, worker.viewSecret);
          await other.goto("/");
          await word(other, "live");
          const { stdout } = await worker.rollcall(["sessions", "list", "-o", "json"]);
          const { sessions } = JSON.parse(stdout) as { sessions: { id: string; who: string }[] };
          const cut = async () => {
            worker.cut();
            await worker.changeIndex(4);
            for (const { id, who } of sessions)
              if (who === "view secret") await worker.rollcall(["sessions", "revoke", id]);
            await word(other, "stale");
          };
          await staleAndBack(page, cut, "machine-000006");
          await other.getByRole("button", { name: "Sign in" }).waitFor(PATIENCE);
          expect(await other.getByRole("table").count()).toBe(0);
        }),
      "/",
      OUT_OF_REACH,
    ));
});
