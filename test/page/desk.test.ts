// Tests approvals, tokens, audit, notifications and the deployment, as an operator uses them in a browser.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../e2e/local-cluster.ts";
import { pagesOfFile, sharedWorker } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import { focused } from "./page-looks.ts";
import type { PageWorker } from "./page-worker.ts";
import { signIn } from "./sign-in.ts";

const RULES = {
  apiVersion: "nfd.k8s-sigs.io/v1alpha1",
  kind: "NodeFeatureRule",
  metadata: { name: "all" },
  spec: { rules: [{ name: "labelled", labels: { labelled: "true" } }] },
};

describe.skipIf(!hasChromium)("the desk", () => {
  const open = pagesOfFile();
  let worker: PageWorker;
  beforeAll(async () => {
    worker = await sharedWorker();
    await worker.machineJoins("edge-approve");
    await worker.machineJoins("edge-reject");
  });
  afterAll(() => worker.stop());

  it("a machine that asks for a taken name appears; approved, it is gone from the list and the audit log says who", () =>
    open({ url: worker.url }, async ({ page, accessibilityFaults }) => {
      await signIn(page, worker.adminSecret);
      await page.goto("/?view=approvals");
      await page.getByRole("heading", { level: 1, name: "Approvals" }).waitFor();
      const waiting = page.getByRole("region", { name: "edge-approve waits" });
      expect(await waiting.count()).toBe(0);
      await worker.anotherAsks("edge-approve");
      await waiting.getByText("Different hardware: both IDs differ").waitFor();
      await waiting
        .getByRole("row", { name: /System UUID/ })
        .getByText("different")
        .waitFor();
      expect(await accessibilityFaults()).toEqual([]);
      await waiting.getByRole("button", { name: "Approve" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("refused permanently").waitFor();
      expect(await accessibilityFaults()).toEqual([]);
      await dialog.getByRole("button", { name: "Approve" }).click();
      await waiting.waitFor({ state: "detached" });
      await page.getByRole("link", { name: "Audit" }).click();
      await page
        .getByRole("row", { name: /admin secret.*edge-approve/ })
        .first()
        .waitFor();
    }));

  it("rejected → gone, and the machine that has the name goes on", () =>
    open({ url: worker.url }, async ({ page }) => {
      await signIn(page, worker.adminSecret);
      await worker.anotherAsks("edge-reject");
      await page.goto("/?view=approvals");
      const waiting = page.getByRole("region", { name: "edge-reject waits" });
      await waiting.getByRole("button", { name: "Reject" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Reject" }).click();
      await waiting.waitFor({ state: "detached" });
      const { stdout } = await worker.rollcall(["node", "edge-reject", "-o", "json"]);
      expect(JSON.parse(stdout)).toMatchObject({ name: "edge-reject", isReady: true });
    }));

  it("tokens in several pages → links to older ones and back; a machine that waits beyond the feed's 200 has a page", () =>
    open({ url: worker.url }, async ({ page, accessibilityFaults }) => {
      await signIn(page, worker.adminSecret);
      const at = "2026-01-01T00:00:00Z";
      const token = (names: string) => {
        const uses = { uses: 1, used: 0, reserved: 0, state: "valid" };
        return { id: names, names, rejoin: false, ...uses, createdAt: at, createdBy: "alice", expiresAt: at };
      };
      await page.route("**/v1/tokens*", (route) =>
        route.fulfill({
          json: route.request().url().includes("after=1.old")
            ? { tokens: [token("older-token")], next: null }
            : { tokens: [token("newer-token")], next: "1.old" },
        }),
      );
      await page.goto("/?view=tokens");
      await page.getByRole("row", { name: /newer-token/ }).waitFor();
      const pages = page.getByRole("navigation", { name: "Pages" });
      await pages.getByRole("link", { name: "Older" }).click();
      await page.getByRole("row", { name: /older-token/ }).waitFor();
      expect(await pages.getByRole("link").allTextContents()).toEqual(["Newest"]);
      expect(await accessibilityFaults()).toEqual([]);
      await pages.getByRole("link", { name: "Newest" }).click();
      await page.getByRole("row", { name: /newer-token/ }).waitFor();

      const key = { thumbprint: "key", machineID: "", systemUUID: "", address: "" };
      const waits = { name: "edge-201", token: "t", ...key, askedAt: at, expiresAt: at, pinned: null };
      await page.route("**/v1/pending*", (route) =>
        route.fulfill({ json: { pending: [waits], next: null } }),
      );
      await page.goto("/?view=approvals&after=1.t.edge-200");
      await page.getByRole("region", { name: "edge-201 waits" }).waitFor();
      await pages.getByRole("link", { name: "Waiting longest" }).click();
      await page.getByRole("region", { name: "edge-201 waits" }).waitFor({ state: "detached" });
    }));

  it("a token is shown once, as the very command; a field that is wrong says what it expects", () =>
    open(
      { url: worker.url, permissions: ["clipboard-read", "clipboard-write"] },
      async ({ page, accessibilityFaults }) => {
        await signIn(page, worker.adminSecret);
        await page.goto("/?view=tokens");
        await page.getByRole("button", { name: "New token" }).click();
        const form = page.getByRole("dialog", { name: "New join token" });
        await form.getByRole("button", { name: "Make the token" }).click();
        await form.getByText("Expected: a name, or a pattern").waitFor();
        await form.getByLabel("Names").fill("made-here-*");
        await form.getByLabel("Machines", { exact: true }).fill("3");
        await form.getByText("What its machines may set themselves").click();
        await form.getByLabel("May set labels").fill("tier");
        expect(await accessibilityFaults()).toEqual([]);
        await form.getByRole("button", { name: "Make the token" }).click();
        const shown = page.getByRole("dialog", { name: "The token, shown this once" });
        const command = (await shown.locator("pre").textContent()) ?? "";
        expect(command).toMatch(
          new RegExp(
            `^printf %s '\\S+' \\| node-shim join --url ${worker.url} --join-token-file - --install-service$`,
          ),
        );
        await shown.getByRole("button", { name: "Copy the join command" }).click();
        await shown.getByText("Copied").waitFor();
        expect(await page.evaluate("navigator.clipboard.readText()")).toBe(command);
        await page.keyboard.press("Escape");
        await shown.waitFor({ state: "detached" });
        const row = page.getByRole("row", { name: /made-here-\*/ });
        expect(await row.textContent()).toContain("0 of 3");
        const { stdout } = await worker.rollcall(["token", "list", "-o", "json"]);
        expect(JSON.parse(stdout)).toMatchObject({
          tokens: expect.arrayContaining([
            expect.objectContaining({ names: "made-here-*", mayLabel: ["tier"], mayTaint: [] }),
          ]) as unknown,
        });
        expect(await page.content()).not.toContain(/'(\S+)'/.exec(command)?.[1]);
        await row.getByRole("button", { name: "Revoke" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
        await row.getByText("revoked").waitFor();
      },
    ));

  it("a receiver and a mute are made, shown and removed", () =>
    open({ url: worker.url }, async ({ page, accessibilityFaults }) => {
      await signIn(page, worker.adminSecret);
      await page.goto("/?view=notifications");
      const mutes = page.getByRole("heading", { name: "Mutes" });
      await page.getByText("Nothing is muted.").waitFor();
      const before = await mutes.boundingBox();
      await page.getByRole("button", { name: "New receiver" }).click();
      const form = page.getByRole("dialog");
      expect(await mutes.boundingBox()).toEqual(before);
      expect(await focused(page)).toBe("input Name");
      await form.getByLabel("Name", { exact: true }).fill("chat");
      await form.getByLabel("Address").fill("http://127.0.0.1:9/");
      await form.getByRole("button", { name: "Make the receiver" }).click();
      await page.getByText("Its signing secret, shown this once").waitFor();
      await page.keyboard.press("Escape");
      const receiver = page.getByRole("article", { name: "Receiver chat" });
      await receiver
        .getByText("not ready, not reporting, cluster unreachable, blocked of all machines")
        .waitFor();
      await receiver.getByRole("button", { name: "Edit" }).click();
      await form.getByLabel("After").fill("soon");
      await form.getByLabel("Again each").fill("1");
      await form.getByRole("button", { name: "Save" }).click();
      await form.getByText("Expected: whole seconds, at most a day").waitFor();
      await form.getByText("Expected: 0 for never, or 5 to 10080 minutes").waitFor();
      expect(await accessibilityFaults()).toEqual([]);
      await form.getByLabel("After").fill("60");
      await form.getByLabel("Again each").fill("30");
      await form.getByLabel("Blocked").uncheck();
      await form.getByRole("button", { name: "Save" }).click();
      await receiver.getByText("after 1m, again each 30m").waitFor();
      await receiver.getByText("not ready, not reporting, cluster unreachable of all machines").waitFor();
      await receiver.getByRole("button", { name: "Send a test" }).click();
      await receiver.getByText("The test did not arrive").waitFor();
      await page.getByRole("button", { name: "New mute" }).click();
      await page.getByRole("dialog").getByRole("textbox", { name: "Names" }).fill("lab-*");
      await page.getByRole("dialog").getByLabel("Why").fill("moving");
      await page.getByRole("dialog").getByRole("button", { name: "Mute" }).click();
      const mute = page.getByRole("row", { name: /lab-\*.*moving/ });
      await mute.waitFor();
      expect(await accessibilityFaults()).toEqual([]);
      await mute.getByRole("button", { name: "End" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
      await mute.waitFor({ state: "detached" });
      await receiver.getByRole("button", { name: "Remove" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
      await receiver.waitFor({ state: "detached" });
    }));

  it("a rollout begins, shows its progress and the reason of its stop, goes on and ends", () =>
    open({ url: worker.url }, async ({ page, accessibilityFaults }) => {
      await signIn(page, worker.adminSecret);
      await page.goto("/?view=rollout");
      await page.getByText("There is no rollout.").waitFor();
      await page
        .getByRole("row", { name: /not reporting|ready/ })
        .first()
        .waitFor();
      await page.getByRole("button", { name: "New rollout" }).click();
      const form = page.getByRole("dialog");
      await form.getByLabel("Version").fill("latest");
      await form.getByText("Expected: a version such as 0.2.0").waitFor();
      await form.getByLabel("Version").fill("9.9.9");
      await form.getByLabel("Labels").fill("site=nowhere");
      await form.getByText("0 machines match.").waitFor();
      expect(await accessibilityFaults()).toEqual([]);
      await form.getByRole("button", { name: "Give it to about 0 machines" }).click();
      const rollout = page.getByRole("article", { name: "Rollout of 9.9.9" });
      await rollout.getByText("1% of machines with site=nowhere").waitFor();
      await rollout.getByRole("button", { name: "Stop" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
      await rollout.getByText(/Stopped .* stopped it\. No further machine/).waitFor();
      expect(await accessibilityFaults()).toEqual([]);
      await rollout.getByRole("button", { name: "Continue or change …" }).click();
      await form.getByLabel("Percent", { exact: true }).fill("50");
      await form.getByRole("button", { name: "Give it to about 0 machines" }).click();
      await rollout.getByText("✓ running").waitFor();
      const { stdout } = await worker.rollcall(["rollout", "show", "-o", "json"]);
      expect(JSON.parse(stdout)).toMatchObject({ rollout: { version: "9.9.9", percent: 50, stopped: null } });
      await rollout.getByRole("button", { name: "End" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
      await page.getByText("There is no rollout.").waitFor();
    }));

  it("the last day has an hour with machines that were not ready → its number opens what changed then", () =>
    open({ url: worker.url }, async ({ page, accessibilityFaults }) => {
      await signIn(page, worker.adminSecret);
      await page.goto("/?view=day&group=architecture&q=edge-approve");
      await page.getByText("Only machines that match").waitFor();
      const all = page.getByRole("row", { name: /^All 1\b/ });
      await all.waitFor();
      await page.getByText("→ Ready").first().waitFor();
      await all.getByRole("link").last().click();
      await page.getByRole("heading", { name: /^What changed from \d\d:00 to \d\d:00$/ }).waitFor();
      expect(new URL(page.url()).searchParams.get("hour")).toMatch(/:00:00.000Z$/);
      await page.getByRole("link", { name: "edge-approve" }).nth(1).waitFor();
      expect(await page.getByRole("link", { name: "edge-reject" }).count()).toBe(0);
      expect(await accessibilityFaults()).toEqual([]);
    }));

  it("feature rules → how far they came, who applied them, and the machines that they match, one click away", () =>
    open({ url: worker.url }, async ({ page, accessibilityFaults }) => {
      const folder = temporaryFolder();
      const file = join(folder.path, "rules.json");
      writeFileSync(file, JSON.stringify(RULES));
      const { stdout } = await worker.rollcall(["rules", "apply", "-f", file, "--yes"]);
      folder.remove();
      expect(stdout).toMatch(/^all created\nrevision 1: all \d+ machines follow/);
      await signIn(page, worker.adminSecret);
      await page.goto("/?view=deployment");
      const section = page.getByRole("region", { name: "Feature rules" });
      await section.getByText(/Rollout done: \d+ of \d+ machines follow/).waitFor();
      await section.getByRole("row", { name: /1 admin secret .*ago – all/ }).waitFor();
      expect(await accessibilityFaults()).toEqual([]);
      await section
        .getByRole("row", { name: /all\/labelled/ })
        .getByRole("link")
        .click();
      expect(new URL(page.url()).searchParams.get("q")).toBe("feature.node.kubernetes.io/labelled=true");
      await worker.rollcall(["rules", "delete", "all", "--yes"]);
      await page.goto("/?view=deployment");
      await section.getByText("All were deleted.").waitFor();
      expect(await section.getByRole("table").count()).toBe(1);
    }));

  it("a list that cannot be asked again says so, and keeps what it showed", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      expectFault(/net::ERR_INTERNET_DISCONNECTED/);
      await signIn(page, worker.adminSecret);
      await page.goto("/?view=deployment");
      const setting = page.getByRole("rowheader", { name: "REGISTER_AGAIN" });
      await page.getByLabel(/Also the \d+ settings with their defaults/).check();
      await setting.waitFor();
      await page.getByRole("heading", { name: /Readiness: / }).waitFor();
      await page.context().setOffline(true);
      await page.getByRole("button", { name: "Check again" }).click();
      await page.getByText("The readiness could not be read").waitFor();
      await page.getByRole("heading", { name: /Readiness: / }).waitFor();
      await setting.waitFor();
      await page.context().setOffline(false);
    }));
});
