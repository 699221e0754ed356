// Tests a large fleet in a browser, on a Worker of its own: rows, search, order, pages, CSV, the way to a machine
// and back; and a page that cannot reach its Worker. In the first test, the Worker has no machine yet.
import { stateText } from "../../shared/fleet/state.ts";
import { text } from "node:stream/consumers";
import type { Page } from "playwright-core";
import type { FeedMessage } from "../../shared/protocol/feed.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../e2e/local-cluster.ts";
import { workerAt } from "../e2e/own-worker.ts";
import { pagesOfFile } from "./browser.ts";
import { DESKTOP, hasChromium, PHONE } from "./chromium.ts";
import { columnOf, styleOf, tooWide } from "./page-looks.ts";
import {
  madeUpFleet,
  type MadeUpFleet,
  type PageAccess,
  type Started,
  startPageWorker,
} from "./page-worker.ts";
import { signIn } from "./sign-in.ts";
import { startWire, type Wire } from "./wire.ts";

/** The number of machines: more than the screen shows, and than one message of the feed contains. */
const MACHINES = 2000;
/** The number of silent machines: every fiftieth. */
const SILENT = MACHINES / 50;
/** The maximum number of rows that the page draws, for any number of machines. */
const MOST_ROWS_DRAWN = 200;
/** Milliseconds without a message after which the page shows that it is stale. */
const STALE_AFTER_MS = 5000;

describe.skipIf(!hasChromium)("a large fleet", () => {
  const open = pagesOfFile();
  const folder = temporaryFolder();
  let worker: Started<PageAccess>;
  let made: MadeUpFleet;
  let wire: Wire;
  beforeAll(async () => {
    worker = await startPageWorker(folder.path);
    made = madeUpFleet(worker.access);
    wire = await startWire(worker.access.url);
  });
  afterAll(async () => {
    await wire.stop();
    await worker.stop();
    folder.remove();
  });

  /** Opens a page that is signed in and shows the made-up fleet. */
  const fleet = (work: (page: Page) => Promise<void>, path = "/", expected: RegExp[] = []) =>
    open({ url: wire.url }, async ({ page, expectFault }) => {
      for (const fault of expected) expectFault(fault);
      await made.fill(MACHINES);
      await signIn(page, worker.access.adminSecret);
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
  /** Returns the counts of the whole fleet from the operators' API, such as the number of silent machines. */
  const counts = async (page: Page) => {
    const answer = await page.context().request.get("/v1/machines?limit=1");
    return ((await answer.json()) as { counts: { fleet: Record<string, number> } }).counts.fleet;
  };

  it("no machine has joined → the page says how; then some join → their rows, without a reload, as many drawn as can be seen", () =>
    open({ url: wire.url }, async ({ page }) => {
      await signIn(page, worker.access.adminSecret);
      await page.goto("/");
      await page.getByRole("heading", { name: "No machine is here yet" }).waitFor();
      const command = await page.getByRole("main").locator("pre").textContent();
      expect(command).toBe(
        `node-shim join --url ${wire.url} --join-token-file /root/join-token --install-service`,
      );
      expect(await page.getByRole("link", { name: "Make a join token" }).getAttribute("href")).toBe(
        "/?view=tokens",
      );
      const loads: string[] = [];
      page.on("load", (loaded) => loads.push(loaded.url()));
      await made.fill(MACHINES);
      await said(page, "2,000 machines");
      expect(await drawn(page)).toBeLessThan(MOST_ROWS_DRAWN);
      const fleetCounts = await counts(page);
      expect(fleetCounts).toMatchObject({ ready: MACHINES - SILENT, silent: SILENT });
      const filters = page.getByRole("group", { name: "Machines by state" });
      // The page hides states without machines.
      for (const [state, count] of Object.entries(fleetCounts).filter(([, each]) => each > 0))
        await filters
          .getByRole(state === "pending" ? "link" : "button", {
            name: `${count.toLocaleString("en")} ${stateText(state)}`,
            exact: true,
          })
          .waitFor();
      // No machine waits for an approval, so the link has no number.
      const views = page.getByRole("navigation", { name: "Views" });
      expect(await views.getByRole("link", { name: /^Approvals/ }).textContent()).toBe("Approvals");
      expect(loads).toEqual([]);
    }));

  it("a column's head → ordered by it, and again the other way round; scrolled to the end → the last one, no more of them drawn", () =>
    fleet(async (page) => {
      const head = page.getByRole("columnheader", { name: "Name" });
      await head.getByRole("button").click();
      await row(page, "machine-000000").waitFor();
      expect(await head.getAttribute("aria-sort")).toBe("ascending");
      expect((await names(page)).slice(0, 2)).toEqual(["machine-000000", "machine-000001"]);
      await head.getByRole("button").click();
      await row(page, "machine-001999").waitFor();
      expect(await head.getAttribute("aria-sort")).toBe("descending");
      expect((await names(page)).slice(0, 2)).toEqual(["machine-001999", "machine-001998"]);
      expect(new URL(page.url()).searchParams.get("sort")).toBe("-name");
      await page.evaluate("scrollTo(0, 1e9)");
      await row(page, "machine-000000").waitFor();
      expect((await names(page)).at(-1)).toBe("machine-000000");
      expect(await drawn(page)).toBeLessThan(MOST_ROWS_DRAWN);
      expect(await row(page, "machine-001999").count()).toBe(0);
      expect(await row(page, "machine-000000").getAttribute("aria-rowindex")).toBe(String(MACHINES + 1));
    }));

  it.each([
    ["a desktop", DESKTOP],
    ["a phone", PHONE],
  ])("the first screen of %s → problems and the first rows, from three scripts at most", (_, viewport) =>
    fleet(async (page) => {
      const scripts: string[] = [];
      page.on("request", (request) => {
        if (request.resourceType() === "script") scripts.push(request.url());
      });
      await page.setViewportSize(viewport);
      await page.reload();
      await page.getByRole("heading", { name: "Needs attention" }).waitFor();
      await row(page, "machine-000000").waitFor();
      const { y = Infinity, height = 0 } = (await row(page, "machine-000000").boundingBox()) ?? {};
      expect(y + 2 * height).toBeLessThan(viewport.height);
      const first = page.locator("script[type=module], link[rel=modulepreload]");
      expect(await first.count()).toBeLessThanOrEqual(3);
      // The code of a machine's view follows when the rows are there. No script has a library of schemas.
      await page.waitForLoadState("networkidle");
      expect(scripts.length).toBeGreaterThan(2);
      for (const url of scripts)
        expect(await (await page.context().request.get(url)).text()).not.toContain("$ZodType");
      expect(await tooWide(page)).toEqual([]);
      // The bar with the search stays, and the page alone scrolls.
      await page.evaluate("scrollTo(0, 20_000)");
      await expect.poll(() => row(page, "machine-000000").count()).toBe(0);
      expect((await page.getByRole("searchbox").boundingBox())?.y).toBeLessThan(viewport.height / 3);
      expect(await page.evaluate("document.querySelector('.fleet-scroll').scrollTop")).toBe(0);
    }),
  );

  it("the problems above grow while the pointer rests on a row → the row stays below the pointer", () =>
    fleet(async (page) => {
      const at = async () => (await row(page, "machine-000001").boundingBox())?.y;
      await row(page, "machine-000001").hover();
      const before = await at();
      await page.evaluate("document.querySelector('.needs-group > summary').click()");
      await expect.poll(() => page.evaluate("scrollY")).toBeGreaterThan(20);
      expect(Math.abs(((await at()) ?? 0) - (before ?? 0))).toBeLessThan(2);
    }, "/?sort=name"));

  it("words of a state find its machines; no machine matches → the terms to leave out; an unknown field → the field that is meant", () =>
    fleet(async (page) => {
      const field = page.getByRole("searchbox", { name: "Search machines" });
      await field.fill("not reporting machine-0000*");
      await said(page, "2 of 2,000 machines");
      await field.fill("machine-0019* site:nowhere");
      await page.getByRole("alert").getByText("no field has the name site").waitFor();
      await field.fill("machine-0019* site=nowhere");
      await page.getByText("No machine matches.").waitFor();
      await page.getByRole("link", { name: "100 machines" }).click();
      await said(page, "100 of 2,000 machines");
      expect(await field.inputValue()).toBe("machine-0019*");
    }));

  it("a row is selected far below → its bar is on the screen; all that match by one click; stale → nothing can be begun", () =>
    open({ url: wire.url }, async ({ page, expectFault }) => {
      for (const fault of OUT_OF_REACH) expectFault(fault);
      await made.fill(MACHINES);
      await page.clock.install();
      await signIn(page, worker.access.adminSecret);
      await page.goto("/?sort=name&q=machine-00*");
      await row(page, "machine-000000").waitFor();
      const bar = page.getByRole("region", { name: "Acting on many machines" });
      expect(await bar.count()).toBe(0);
      await page.evaluate("scrollTo(0, 10_000)");
      await page.getByRole("checkbox", { name: "Select machine-000280" }).click();
      await bar.getByText("1 selected").waitFor();
      const { y = Infinity, height = 0 } = (await bar.boundingBox()) ?? {};
      expect(y + height).toBeLessThanOrEqual(DESKTOP.height);
      await bar.getByRole("button", { name: "Select all 2,000" }).click();
      await bar.getByText("2,000 selected").waitFor();
      wire.cut();
      await page.clock.fastForward(STALE_AFTER_MS);
      await word(page, "stale");
      expect(await bar.getByRole("button", { name: "Act on them …" }).isDisabled()).toBe(true);
      wire.restore();
      await word(page, "live");
      expect(await bar.getByRole("button", { name: "Act on them …" }).isDisabled()).toBe(false);
    }));

  it("a view is saved → its link restores search, groups and columns, also after a reload; deleted → gone", () =>
    fleet(async (page) => {
      const menu = (title: string) => page.locator(".fleet-menu > summary", { hasText: title });
      const kernels = page.locator(".fleet-head").getByRole("columnheader", { name: "Kernel" });
      await menu("Columns").click();
      await page.getByRole("checkbox", { name: "Kernel" }).check();
      await menu("Views").click();
      await page.getByLabel("Name of the present view").fill("Silent by kernel");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("link", { name: "Silent by kernel" }).waitFor();
      await menu("Columns").click();
      await page.getByRole("checkbox", { name: "Kernel" }).uncheck();
      await page.goto("/");
      await said(page, "2,000 machines");
      expect(await kernels.count()).toBe(0);
      await menu("Views").click();
      await page.getByRole("link", { name: "Silent by kernel" }).click();
      await said(page, `${SILENT} of 2,000 machines`);
      await kernels.waitFor();
      await page.getByRole("region", { name: "Machines by Kernel" }).waitFor();
      await menu("Views").click();
      await page.getByRole("button", { name: "Delete the view Silent by kernel" }).click();
      expect(await page.getByRole("link", { name: "Silent by kernel" }).count()).toBe(0);
    }, "/?q=state:silent&group=kernel"));

  it("two machines are selected and muted → the mute has their names, and each view states it", () =>
    fleet(async (page) => {
      for (const name of ["machine-000000", "machine-000002"])
        await page.getByRole("checkbox", { name: `Select ${name}` }).click();
      await page.getByRole("button", { name: "Mute …" }).click();
      const dialog = page.getByRole("dialog", { name: "Mute 2 machines" });
      await dialog.getByLabel("Why").fill("new switch");
      await dialog.getByRole("button", { name: "Mute" }).click();
      await dialog.waitFor({ state: "detached" });
      await page.reload();
      await page.getByText("machines named machine-000000, machine-000002 until").waitFor();
      await page.goto("/?view=notifications");
      const mute = page.getByRole("row", { name: /new switch/ });
      await mute.getByRole("button", { name: "End" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
      await mute.waitFor({ state: "detached" });
    }, "/?sort=name"));

  it("a search narrows; the URL has it, a reload and going back keep it; what cannot be read is said", () =>
    fleet(async (page) => {
      const field = page.getByRole("searchbox", { name: "Search machines" });
      const found = async (count: string, first: string) => {
        await said(page, count);
        expect((await names(page))[0]).toBe(first);
      };
      await field.fill("state:silent");
      await found(`${SILENT} of 2,000 machines`, "machine-000000");
      await field.fill("machine-0019 state:silent");
      await found("2 of 2,000 machines", "machine-001900");
      await field.fill("machine-00199");
      await found("10 of 2,000 machines", "machine-001990");
      await expect.poll(() => new URL(page.url()).searchParams.get("q")).toBe("machine-00199");
      await page.reload();
      await found("10 of 2,000 machines", "machine-001990");
      expect(await field.inputValue()).toBe("machine-00199");
      await page.getByRole("link", { name: "Tokens" }).click();
      await page.getByRole("heading", { name: "Join tokens" }).waitFor();
      await page.goBack();
      await found("10 of 2,000 machines", "machine-001990");
      await field.fill("machine-00199 state:asleep");
      await page.getByRole("alert").getByText("state:asleep").waitFor();
      expect((await names(page))[0]).toBe("machine-001990");
    }, "/?sort=name"));

  it("some are searched for → as CSV a line for each, and the columns' names; on paper all of their rows, without gaps", () =>
    fleet(async (page) => {
      await said(page, "100 of 2,000 machines");
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "CSV" }).click(),
      ]);
      expect(download.suggestedFilename()).toBe("machines.csv");
      const [head, ...lines] = (await text(await download.createReadStream())).trim().split("\r\n");
      expect(head).toMatch(/^name,state,since,/);
      expect(lines).toHaveLength(100);
      expect(lines.every((line) => line.startsWith("machine-0010"))).toBe(true);
      // A browser lays out paper at once, so a print lacks the rows that the page draws later.
      const printed = (await page.pdf({ format: "A4" })).toString("latin1");
      const pages = Math.max(...[...printed.matchAll(/\/Count (\d+)/g)].map(([, count]) => Number(count)));
      expect(pages).toBeGreaterThan(1);
      expect(pages).toBeLessThan(6);
      await page.emulateMedia({ media: "print" });
      await expect.poll(() => drawn(page)).toBe(100);
      expect(await page.locator(".fleet-gap").filter({ visible: true }).count()).toBe(0);
      expect(await styleOf(page, ".fleet-bar", "position")).toBe("static");
    }, "/?q=machine-0010"));

  it("to the content, a row far below, its machine, and back → the machine has the focus, then its row, where it was", () =>
    fleet(
      async (page) => {
        const focused = () => page.evaluate<string>("document.activeElement.textContent.trim()");
        const scrolled = () => page.evaluate<number>("scrollY");
        // The first Tab reaches the link to the content.
        await page.keyboard.press("Tab");
        await page.keyboard.press("Enter");
        await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("main");
        expect(new URL(page.url()).search).toBe("?q=machine&sort=name");
        await page.keyboard.press("Shift+G");
        await expect.poll(focused).toBe("machine-001999");
        const before = await scrolled();
        expect(before).toBeGreaterThan(10_000);
        await page.keyboard.press("o");
        await page.getByRole("heading", { level: 1, name: "machine-001999" }).waitFor();
        expect(await page.evaluate("[document.activeElement.id, document.title]")).toEqual([
          "main",
          "machine-001999 · rollcall",
        ]);
        await page.goBack();
        await expect.poll(focused).toBe("machine-001999");
        expect(Math.abs((await scrolled()) - before)).toBeLessThan(100);
        await page.keyboard.press("o");
        await page.getByRole("heading", { level: 1, name: "machine-001999" }).waitFor();
        await page.keyboard.press("u");
        await row(page, "machine-000000").waitFor();
        expect(new URL(page.url()).search).toBe("?q=machine&sort=name");
      },
      "/?q=machine&sort=name",
      // The made-up machines have no node objects, so requests for them fail.
      [/\/v1\/nodes\/machine-/],
    ));

  it("the Worker is out of reach → stale after 5 s, all of it there in grey; back → the changes, once each; whose session ended meanwhile gets the form", () =>
    open({ url: wire.url }, async ({ page, expectFault }) => {
      for (const fault of OUT_OF_REACH) expectFault(fault);
      await made.fill(MACHINES);
      await page.clock.install();
      await signIn(page, worker.access.adminSecret);
      const told: string[] = [];
      page.on("websocket", (socket) =>
        socket.on("framereceived", ({ payload }) => void told.push(String(payload))),
      );
      await page.goto("/");
      await row(page, "machine-000000").waitFor();
      await open({ url: wire.url }, async ({ page: other, expectFault: expectOther }) => {
        for (const fault of [...OUT_OF_REACH, /→ 403/]) expectOther(fault);
        await other.clock.install();
        await signIn(other, worker.access.viewSecret);
        await other.goto("/");
        await row(other, "machine-000000").waitFor();
        const before = await names(page);
        expect(await styleOf(page, "main", "filter")).toBe("none");
        wire.cut();
        // The transitions make the third of these four machines silent.
        await made.change(4);
        await endSessions("view secret");
        for (const each of [page, other]) {
          await each.clock.fastForward(STALE_AFTER_MS);
          await word(each, "stale");
        }
        const banner = page.getByRole("alert").filter({ hasText: "no word from the Worker since" });
        const sinceMs = Date.parse((await banner.locator("time").first().getAttribute("datetime")) ?? "");
        expect(await page.evaluate<number>("Date.now()")).toBeGreaterThanOrEqual(sinceMs + STALE_AFTER_MS);
        expect(await styleOf(page, "main", "filter")).toBe("grayscale(1)");
        expect(await names(page)).toEqual(before);
        told.length = 0;
        wire.restore();
        await word(page, "live");
        await banner.waitFor({ state: "detached" });
        expect(await styleOf(page, "main", "filter")).toBe("none");
        await row(page, "machine-000002").getByText("Not reporting", { exact: true }).waitFor();
        await said(page, "2,000 machines");
        const { silent } = await counts(page);
        await page.getByRole("button", { name: `${silent} Not reporting` }).waitFor();
        const after = await names(page);
        expect(new Set(after).size).toBe(after.length);
        // The page resumed the feed after the new session, without a reload and a new snapshot.
        const types = told
          .filter((each) => each !== "pong")
          .map((each) => (JSON.parse(each) as FeedMessage).type);
        expect(types).toContain("hello");
        expect(types).not.toContain("snapshot");
        await other.getByRole("button", { name: "Sign in" }).waitFor();
        expect(await other.getByRole("table").count()).toBe(0);
      });
    }));

  const OUT_OF_REACH = [/net::ERR_/, /^console: WebSocket connection to /];
  const word = (page: Page, connection: string) =>
    page.getByRole("status").getByText(connection, { exact: true }).waitFor();
  async function endSessions(of: string): Promise<void> {
    const { rollcall } = workerAt(worker.access.url, worker.access.adminSecret);
    const { stdout } = await rollcall(["sessions", "list", "-o", "json"]);
    const { sessions } = JSON.parse(stdout) as { sessions: { id: string; who: string }[] };
    for (const { id, who } of sessions) if (who === of) await rollcall(["sessions", "revoke", id]);
  }
});
