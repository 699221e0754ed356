// Tests the tab "Ask" of a machine, with a real shim on this machine and with made-up answers.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AnswerLine } from "../../shared/protocol/asking.ts";
import { answerWith, type AskedMachine, askedMachine, LABEL } from "./asked-machine.ts";
import { pagesOfFile, sharedWorker } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import { faultsOfLooks } from "./page-looks.ts";
import type { PageWorker } from "./page-worker.ts";
import { signIn } from "./sign-in.ts";

const COMPLETE: AnswerLine = { end: { reason: "complete" } };

/** Without `folders`, which takes a bundle's time on a large disk. */
const ON = "diagnosis,logs,processes,disks,units,bundle";
const DIAGNOSIS = `fail  disk  /var (/dev/sda2) is full: 98 % of 40 GiB are used
            → ask units unit=var.mount
warn  unit  nginx.service ends again and again
            → ask files path=/etc/x
warn  link  eth0 has no carrier
            → check the cable
no fault found: runtime, load
not checked: kernel's log: the journal has no message of the kernel that this user may read
`;

/** Counts the questions that the page sends. */
function countAsked(page: Page): { count: number } {
  const asked = { count: 0 };
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().endsWith("/questions")) asked.count++;
  });
  return asked;
}

const askButton = (page: Page) => page.getByRole("button", { name: "Ask ask-1", exact: true });
const answer = (page: Page, question: string) =>
  page.getByRole("region", { name: `Answer to ${question}`, exact: true }).first();

async function saved(page: Page, act: () => Promise<void>): Promise<[name: string, contents: Buffer]> {
  const coming = page.waitForEvent("download");
  await act();
  const download = await coming;
  return [download.suggestedFilename(), await buffer(await download.createReadStream())];
}

describe.skipIf(!hasChromium)("the tab Ask", () => {
  const open = pagesOfFile();
  let worker: PageWorker;
  let machine: AskedMachine;
  let http: AskedMachine;
  beforeAll(async () => {
    worker = await sharedWorker();
    machine = await askedMachine(worker, "ask-1", ["--questions", ON]);
    http = await askedMachine(worker, "ask-http", ["--questions", ON, "--transport=http"]);
  });
  afterAll(async () => {
    await machine.stop();
    await http.stop();
    await worker.stop();
  });

  it("what is wrong? → its causes, each with the question that shows more", () =>
    open({ url: worker.url }, async (opened) => {
      const { page } = opened;
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=ask-1");
      await page.getByRole("link", { name: "Ask", exact: true }).click();
      await page.getByRole("heading", { name: "What is wrong?" }).waitFor();
      await askButton(page).click();
      await page.getByRole("status").getByText("Complete:").waitFor();
      await page.getByText(/^no fault found: /).waitFor();
      await page.getByRole("link", { name: "processes" }).click();
      await page.getByLabel("Largest by").selectOption("memory");
      await page.getByLabel("Rows at most").fill("3");
      await askButton(page).click();
      await answer(page, "processes by=memory top=3").getByText("those with the most memory").waitFor();
      expect(new URL(page.url()).search).toBe(
        "?machine=ask-1&tab=ask&question=processes&with.by=memory&with.top=3",
      );
      await page.getByRole("link", { name: "What is wrong?" }).click();
      await page.getByText(/^no fault found: /).waitFor();
      expect(await faultsOfLooks(opened)).toEqual([]);
    }));

  it("a link to a question → its form is filled, and nothing is asked", () =>
    open({ url: worker.url }, async ({ page }) => {
      const asked = countAsked(page);
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=ask-1&tab=ask&question=logs&with.unit=nginx&with.lines=7");
      await expect.poll(() => page.getByLabel("Unit of systemd").inputValue()).toBe("nginx");
      expect(await page.getByLabel("Lines at most").inputValue()).toBe("7");
      expect(await page.getByLabel("Not older than").inputValue()).toBe("1h");
      expect(asked.count).toBe(0);
    }));

  it("a log with commands to a terminal and with HTML → text, on the page and in the file", () =>
    open({ url: worker.url }, async ({ page }) => {
      const message = String.raw`"MESSAGE":"\u001b[31m<img src=x onerror=alert(1)> hunter2"`;
      machine.journal(`echo '{"__REALTIME_TIMESTAMP":"0",${message}}'`);
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=ask-1&tab=ask&question=logs");
      await page.getByLabel("Unit of systemd").fill("nginx");
      await page.getByLabel("Only lines with this text").fill("hunter2");
      await askButton(page).click();
      const shown = answer(page, "logs unit=nginx grep=hunter2");
      const line = String.raw`1970-01-01T00:00:00.000Z unknown: \u001b[31m<img src=x onerror=alert(1)> hunter2`;
      await shown.getByText(line).waitFor();
      expect(await shown.locator("img").count()).toBe(0);
      expect(page.url()).not.toContain("hunter2");
      const [name, contents] = await saved(page, () =>
        shown.getByRole("button", { name: "Download" }).click(),
      );
      expect(name).toMatch(/^ask-1-logs-\d{8}T\d{6}Z\.txt$/);
      expect(contents.toString()).toBe(`${line}\n`);
    }));

  it("a wrong or missing parameter → the field says so", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      expectFault(/questions → 400$/);
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=ask-1&tab=ask&question=logs");
      await askButton(page).click();
      await page.getByText("Expected: a value.").first().waitFor();
      await page.getByLabel("Unit of systemd").fill("--root=/");
      await askButton(page).click();
      await page.getByText("This is not the name of a unit.").waitFor();
      await page.getByLabel("Lines of the kernel instead").check();
      expect(await page.getByLabel("Unit of systemd").isDisabled()).toBe(true);
    }));

  it.each<[end: string, act: (page: Page) => Promise<void>]>([
    ["Stop", (page) => page.getByRole("button", { name: "Stop" }).click()],
    ["leaving the machine", (page) => page.getByRole("link", { name: "Fleet" }).click()],
    ["closing the page", (page) => page.close()],
  ])("an answer comes part by part; %s ends it on the machine too", (_, act) =>
    open({ url: worker.url }, async ({ page }) => {
      const pid = join(machine.folder, "pid");
      rmSync(pid, { force: true });
      machine.journal(`echo $$ > ${pid}.new; mv ${pid}.new ${pid}; exec sleep 600`);
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=ask-1&tab=ask&question=bundle");
      await askButton(page).click();
      await page.getByText(/B so far/).waitFor();
      await expect.poll(() => existsSync(pid)).toBe(true);
      await act(page);
      await expect.poll(() => existsSync(`/proc/${readFileSync(pid, "utf8").trim()}`)).toBe(false);
    }),
  );

  it("a bundle → a file", () =>
    open({ url: worker.url }, async ({ page }) => {
      machine.journal("exit 0");
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=ask-1&tab=ask&question=bundle");
      await askButton(page).click();
      const download = page.getByRole("button", { name: "Download" });
      await page.getByRole("status").getByText("Complete:").waitFor();
      const [name, contents] = await saved(page, () => download.click());
      expect(name).toMatch(/^ask-1-bundle-\d{8}T\d{6}Z\.tar\.gz$/);
      expect(gunzipSync(contents).toString("latin1")).toContain("bundle/manifest.json");
    }));

  it("a fault that a question shows more of → one click asks it, and its answer is below the fault", () =>
    open({ url: worker.url }, async (opened) => {
      const { page } = opened;
      await signIn(page, worker.adminSecret);
      const asked = await answerWith(page, { text: DIAGNOSIS }, COMPLETE);
      await page.goto("/?machine=ask-1&tab=ask&question=diagnosis");
      await askButton(page).click();
      const disk = page.getByRole("listitem").filter({ hasText: "/var (/dev/sda2) is full" });
      await disk.getByRole("button", { name: "Ask units unit=var.mount" }).click();
      await disk
        .getByRole("region", { name: "Answer to units unit=var.mount", exact: true })
        .first()
        .waitFor();
      expect(asked).toEqual([
        { name: "diagnosis", parameters: {} },
        { name: "units", parameters: { unit: "var.mount" } },
      ]);
      await page.getByText("files path=/etc/x shows more, but the machine does not answer it now.").waitFor();
      await page.getByText("→ check the cable", { exact: true }).waitFor();
      expect(await faultsOfLooks(opened)).toEqual([]);
    }));

  it("hostile names of questions, and a hostile diagnosis → texts, which make no page wider", () =>
    open({ url: worker.url }, async (opened) => {
      const { page } = opened;
      await signIn(page, worker.adminSecret);
      const image = "<img src=x onerror=alert(1)>";
      const text = `fail  ${image}  ${"W".repeat(1024)}\u202E\n      → ask constructor __proto__=${"W".repeat(200)}\n`;
      const asked = await answerWith(page, { text }, COMPLETE);
      const on = ["diagnosis", "constructor", "__proto__", image, "W".repeat(64)];
      await page.route("**/v1/nodes/ask-1/questions", (route) =>
        route.request().method() === "GET" ? route.fulfill({ json: { on } }) : route.fallback(),
      );
      await page.goto("/?machine=ask-1&tab=ask");
      await askButton(page).click();
      await page.getByRole("button", { name: /^Ask constructor/ }).click();
      await expect.poll(() => asked.length).toBe(2);
      expect(await faultsOfLooks(opened)).toEqual([]);
      await page.getByRole("link", { name: image }).click();
      await page.getByRole("heading", { name: image }).waitFor();
      expect(await page.locator("main img").count()).toBe(0);
      await page.setViewportSize({ width: 320, height: 640 });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
    }));

  it("100,000 lines → all are there for the browser to find and to copy", () =>
    open({ url: worker.url }, async ({ page }) => {
      await signIn(page, worker.adminSecret);
      const lines = Array.from({ length: 100_000 }, (_, index) => (index % 9 === 0 ? "" : `${index} ok`));
      await answerWith(page, { text: lines.map((line) => `${line}\n`).join("") }, COMPLETE);
      await page.goto("/?machine=ask-1&tab=ask&question=disks");
      await askButton(page).click();
      await page.getByRole("status").getByText("Complete: 100,000 lines.").waitFor();
      expect(await page.evaluate("window.find('99998 ok')")).toBe(true);
      const copied = await page.evaluate<string>(`(() => {
        getSelection().selectAllChildren(document.querySelector(".ask-text"));
        return getSelection().toString();
      })()`);
      expect(copied.trimEnd()).toBe(lines.join("\n").trimEnd());
    }));

  it.each<[situation: string, lines: AnswerLine[], text: string]>([
    [
      "cut at its size",
      [{ text: "a\n" }, { end: { reason: "cut" } }],
      "Not the whole answer: the answer is cut",
    ],
    [
      "refused by the machine",
      [{ end: { reason: "refused", fault: "too often" } }],
      "Not answered: too often.",
    ],
    ["broken off", [{ text: "a\n" }], "Not the whole answer: the answer broke off."],
    [
      "a machine that pins keys",
      [{ end: { reason: "refused", fault: "a proof is needed", challenge: "T6zB0Ql0xkYw3mYF5yXw4g" } }],
      "rollcall ask ask-1 disks --key ~/.config/rollcall/question-key",
    ],
  ])("%s → the end is named", (_, lines, text) =>
    open({ url: worker.url }, async ({ page }) => {
      await signIn(page, worker.adminSecret);
      await answerWith(page, ...lines);
      await page.goto("/?machine=ask-1&tab=ask&question=disks");
      await askButton(page).click();
      await page.getByText(text).waitFor();
    }),
  );

  it("a machine without a socket → it answers with its next report, and the tab says so", () =>
    open({ url: worker.url }, async ({ page }) => {
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=ask-http&tab=ask&question=disks");
      await page.getByText(/^ask-http reports over HTTP: it takes a question with its next report/).waitFor();
      expect(await page.getByRole("link", { name: "bundle" }).count()).toBe(0);
      await page.getByRole("button", { name: "Ask ask-http", exact: true }).click();
      await answer(page, "disks").getByText("Complete:").waitFor();
    }));

  it("a question that is off → why", () =>
    open({ url: worker.url }, async ({ page }) => {
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=ask-1&tab=ask&question=files");
      await page.getByText(/^ask-1 does not answer files now/).waitFor();
      expect(await askButton(page).isDisabled()).toBe(true);
    }));

  it("the role view → no tab, and its address says why", () =>
    open({ url: worker.url }, async ({ page }) => {
      await signIn(page, worker.viewSecret);
      await page.goto("/?machine=ask-1");
      await page.getByRole("region", { name: "Facts" }).waitFor();
      expect(await page.getByRole("link", { name: "Ask", exact: true }).count()).toBe(0);
      await page.goto("/?machine=ask-1&tab=ask");
      await page.getByText(/^Your role may not ask a machine/).waitFor();
    }));

  it.each(["operator", "admin"])(
    "an operator of some machines, %s → those alone, and no view breaks",
    (role) =>
      open({ url: worker.url }, async (opened) => {
        const { page } = opened;
        const selector = `${LABEL}=ask-1`;
        const added = await worker.rollcall([
          "operators",
          "add",
          `ask-${role}`,
          "--role",
          role,
          "-l",
          selector,
        ]);
        await signIn(page, added.stdout.trim());
        await page.goto("/");
        await page.getByRole("link", { name: "ask-1", exact: true }).first().waitFor();
        expect(await page.getByRole("link", { name: "ask-http" }).count()).toBe(0);
        const views = page.getByRole("navigation", { name: "Views" }).getByRole("link");
        const shown = ["Fleet", "Last day", "Approvals", "Rollout"];
        expect(await views.allInnerTexts()).toEqual(shown);
        for (const name of shown.slice(1)) {
          await views.filter({ hasText: name }).click();
          await page.getByRole("heading", { level: 1 }).first().waitFor();
          await expect.poll(() => page.getByText(/^Loading/).count()).toBe(0);
        }
        for (const [view, why] of [
          ["tokens", "decides who has access"],
          ["audit", "the whole deployment"],
          ["notifications", "alerts of all operators"],
          ["deployment", "the whole deployment"],
        ]) {
          await page.goto(`/?view=${view}`);
          await page.getByText(`This view is not for operators of some machines (${selector})`).waitFor();
          await page.getByText(why ?? "").waitFor();
        }
        expect(await faultsOfLooks(opened)).toEqual([]);
        await page.goto("/?machine=ask-1");
        await page.getByRole("region", { name: "Facts" }).waitFor();
        await page.getByText("As a table").click();
        expect(await page.getByRole("region", { name: "Actions" }).count()).toBe(role === "admin" ? 1 : 0);
        expect(await page.getByRole("button", { name: "Mute …" }).count()).toBe(0);
        await page.getByRole("link", { name: "Ask", exact: true }).click();
        await page.getByRole("link", { name: "disks" }).click();
        await askButton(page).click();
        await page.getByRole("status").getByText("Complete:").waitFor();
      }),
  );

  it("an operator of some machines opens another machine → as no machine", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      expectFault(/ask-http\S* → 404$/);
      const args = ["operators", "add", "ask-other", "--role", "operator", "-l", `${LABEL}=ask-1`];
      const added = await worker.rollcall(args);
      await signIn(page, added.stdout.trim());
      await page.goto("/?machine=ask-http&tab=ask");
      await page.getByText(/^No machine has this name/).waitFor();
    }));
});
