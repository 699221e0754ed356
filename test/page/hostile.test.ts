// Tests hostile texts of machines, and of writers of their Nodes: no text becomes a part of the page or makes it
// wider than a phone, and no answer leaves the page blank.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Page, Route } from "playwright-core";
import { ColumnsBuilder } from "../../shared/fleet/columns.ts";
import { ALL_FIELDS, allValues } from "../../shared/fleet/feed-view.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import type { FeedMessage } from "../../shared/protocol/feed.ts";
import { summaryOf } from "../worker/support/made-up-fleet.ts";
import { pagesOfFile, sharedWorker } from "./browser.ts";
import { hasChromium, PHONE } from "./chromium.ts";
import type { PageWorker } from "./page-worker.ts";
import { signIn } from "./sign-in.ts";

const HOSTILE = [
  '"><img src=/x onerror="window.stolen=1"><script>window.stolen=1</script></title></textarea>',
  "javascript:window.stolen=1",
  "W".repeat(1024),
  "\u202Egnp.exe \u2066\u2067 ‏",
  "${window.stolen=1} {{window.stolen=1}} `rollcall nodes forget --all`",
  "=cmd|' /C calc'!A0",
  "constructor",
];
/** Names of properties that every JavaScript object has. */
const OF_EVERY_OBJECT = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];
/** Matches the fields that the Worker decides, and no machine: times, states, keys of lists by name. */
const IS_DECIDED =
  /^(name|state|status|phase|role|by|kind|track|effect|action|signals?|type|transport|runtime|format|.*[aA]t|since|until|from|to|knownSince|firstAt|lastAt|.*Since|.*Until|created|creationTimestamp|lease|alarm)$/;

/** Returns the value with hostile texts, long lists and, in records, the names that every object has. */
function hostile(value: unknown, key = "", depth = 0): unknown {
  if (typeof value === "string")
    return IS_DECIDED.test(key) || /^\d{4}-\d\d-\d\dT/.test(value) ? value : HOSTILE.join(" ");
  if (Array.isArray(value)) return value.map((each) => hostile(each, key, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, each]) => [name, hostile(each, name, depth + 1)]);
  const isOfTexts = entries.length > 0 && Object.values(value).every((each) => typeof each === "string");
  if (isOfTexts && /^(labels|annotations|capacity|allocatable|conditions)$/.test(key))
    for (const name of [...OF_EVERY_OBJECT, ...HOSTILE]) entries.push([name, HOSTILE.join(" ")]);
  // The properties are own ones, as JSON.parse creates them, also `__proto__`.
  return Object.defineProperties(
    {},
    Object.fromEntries(entries.map(([name, each]) => [name, property(each)])),
  );
}
const property = (value: unknown) => ({ value, enumerable: true, writable: true, configurable: true });

async function answerHostile(route: Route): Promise<void> {
  const response = await route.fetch();
  if (!response.ok()) return route.fulfill({ response });
  await route.fulfill({ response, json: hostile(await response.json()) });
}

/** A script that opens all folded parts of the view. */
const OPEN_ALL = "for (const each of document.querySelectorAll('main details')) each.open = true";
/**
 * A script that lists the elements that make the page wider than the screen: their content does not fit, and they
 * neither scroll nor clip it.
 */
const WIDER = `document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("main *")]
    .filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX === "visible")
    .map((each) => each.localName + "." + each.getAttribute("class"))`;

/** Matches the text of a view before its answers arrive. */
const WAITS = /^Loading …$/;

async function expectHarmless(page: Page, path: string): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await expect.poll(() => page.getByText(WAITS).count(), { message: path }).toBe(0);
  await page.evaluate(OPEN_ALL);
  expect(await page.locator("main").innerText(), path).not.toContain("could not be drawn");
  expect(await page.evaluate("window.stolen"), path).toBeUndefined();
  expect(await page.locator("main img, main script, main iframe").count(), path).toBe(0);
  expect(await page.locator('a[href^="javascript"]').count(), path).toBe(0);
  expect(await page.evaluate(WIDER), path).toEqual([]);
}

const COLUMNS =
  "name,state,since,conditions,why,version,address,transport,roles,labels,kernel,os,runtime,cpu";

/** Returns many machines with texts that no Worker would accept, and with the names that every object has. */
function hostileFleet(count: number): FeedMessage[] {
  const text = HOSTILE.join(" ");
  const rows = new ColumnsBuilder(ALL_FIELDS);
  for (let index = 0; index < count; index++) {
    const why = `${index} ${text}`;
    const conditions = OF_EVERY_OBJECT.map((type) => ({
      type,
      status: text,
      reason: "",
      message: text,
      sinceMs: 1,
    }));
    const summary = summaryOf(index, {
      state: (["not-ready", "silent", "blocked"] as const)[index % 3]!,
      why,
      phase: OF_EVERY_OBJECT[index % OF_EVERY_OBJECT.length] as MachineSummary["phase"],
      conditions,
      labels: Object.fromEntries([...OF_EVERY_OBJECT, text].map((name) => [name, text])),
      capacity: Object.fromEntries([...OF_EVERY_OBJECT, "cpu", "memory"].map((name) => [name, text])),
    });
    rows.add(allValues(`machine-${index}`, summary));
  }
  const asks = { token: text, machineID: text, systemUUID: text, address: text };
  const at = new Date(0).toISOString();
  const pending = Array.from({ length: 20 }, (_, index) => ({
    ...asks,
    name: `machine-${index}`,
    thumbprint: `${index}`,
    askedAt: at,
    expiresAt: at,
    pinned: null,
  }));
  return [
    { type: "hello", resumed: false, why: "" },
    { type: "snapshot", cursor: "0", rows: count, machines: rows.finish(), isLast: true, pending },
  ];
}

describe.skipIf(!hasChromium)("what is hostile", () => {
  const open = pagesOfFile();
  let worker: PageWorker;
  beforeAll(async () => {
    worker = await sharedWorker();
    await worker.machineJoins("hostile-1");
    await worker.anotherAsks("hostile-1");
    await worker.rollcall(["operators", "add", "hostile-ann", "--role", "view"]);
    const code = await fetch(`${worker.url}/v1/receivers`, {
      method: "POST",
      headers: { authorization: `Bearer ${worker.adminSecret}` },
      body: JSON.stringify({ name: "hostile-desk", url: "https://hooks.example.com/a", format: "json" }),
    });
    expect(code.status).toBe(201);
  });
  afterAll(() => worker.stop());

  /** Visits all paths in one page, because opening a context of the browser for each takes most of the time. */
  async function visitAll(page: Page, paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      await page.goto(path);
      await page.getByRole("navigation", { name: "Views" }).waitFor();
      await expectHarmless(page, path);
    }
  }

  it("texts in all answers of every view → are texts", () =>
    open({ url: worker.url, viewport: PHONE }, async ({ page }) => {
      await signIn(page, worker.adminSecret);
      await page.route(/\/v1\/(?!session$|feed)/, answerHostile);
      await visitAll(page, [
        "/?machine=hostile-1",
        "/?machine=hostile-1&range=1h#history",
        "/?view=approvals",
        "/?view=tokens",
        "/?view=audit",
        "/?view=audit&by=machines",
        "/?view=notifications",
        "/?view=deployment",
      ]);
    }));

  it("texts in all fields of the feed → are texts", () =>
    open({ url: worker.url, viewport: PHONE }, async ({ page, expectFault }) => {
      expectFault(/^GET \/v1\/nodes\/\S+ → 404/);
      await signIn(page, worker.adminSecret);
      await page.addInitScript(`localStorage.setItem("rollcall.columns", "${COLUMNS}")`);
      await page.routeWebSocket(/\/v1\/feed/, (feed) => {
        for (const message of hostileFleet(100)) feed.send(JSON.stringify(message));
        feed.onMessage((text) => {
          if (text === "ping") feed.send("pong");
        });
      });
      for (const path of ["/", "/?view=approvals", "/?rows=pages&sort=-why&q=constructor"]) {
        await page.goto(path);
        await page.getByRole("status").getByText("live", { exact: true }).waitFor();
        await expect.poll(() => page.locator("main").innerText(), { message: path }).toContain("onerror");
        await expectHarmless(page, path);
      }
    }));

  it("links that mean harm → a view, and nothing of them is executed", () =>
    open({ url: worker.url, viewport: PHONE }, async ({ page, expectFault }) => {
      expectFault(/^GET \/v1\/\S* → 4\d\d/);
      await signIn(page, worker.adminSecret);
      await visitAll(page, [
        "/?q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&sort=__proto__&rows=constructor&page=-1",
        "/?view=constructor&__proto__=x&constructor=y",
        "/?machine=..&range=__proto__",
        "/?machine=../sessions&from=x&to=y",
        `/?machine=${encodeURIComponent(HOSTILE.join(" "))}`,
        "/?view=audit&by=__proto__&before=x&target=%3Cscript%3E",
        "/?outage=99999999999999999999#code",
      ]);
    }));

  it("what should never be answered → it is said, and the rest of the page works", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      expectFault(/could not be drawn/);
      await signIn(page, worker.adminSecret);
      for (const [path, asked, json] of [
        ["/?machine=hostile-1", "**/v1/nodes/hostile-1/timeline*", {}],
        ["/?machine=hostile-1", "**/v1/nodes/hostile-1", { name: "hostile-1", conditions: 1 }],
        ["/?view=tokens", "**/v1/tokens", { tokens: null }],
      ] as const) {
        await page.route(asked, (route) => route.fulfill({ json }));
        await page.goto(path);
        await page.getByRole("alert").getByText("could not be drawn").waitFor();
        await page.unroute(asked);
        await page.getByRole("link", { name: "Approvals" }).click();
        await page.getByRole("heading", { level: 1, name: "Approvals" }).waitFor();
        await page.goBack();
        await page.locator("main h1").first().waitFor();
        expect(await page.getByText("could not be drawn").count(), path).toBe(0);
      }
    }));
});
