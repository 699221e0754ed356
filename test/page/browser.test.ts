// What a test of the page can rely on: whatever goes wrong in a page fails its test, the network can be cut, and machines
// do as they are told.
import { afterAll, beforeAll, describe, expect, it, test, vi } from "vitest";
import { pagesOfFile } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import { type PageWorker, startPageWorker } from "./page-worker.ts";

let worker: PageWorker;
beforeAll(async () => {
  worker = await startPageWorker();
});
afterAll(() => worker.stop());

describe.skipIf(!hasChromium)("a page", () => {
  const open = pagesOfFile();

  test.each<[situation: string, script: string, fault: RegExp]>([
    ["logs an error", 'console.error("all is lost")', /console: all is lost/],
    [
      "throws what nobody catches",
      'void setTimeout(() => { throw new Error("a bug") }, 0)',
      /uncaught: Error: a bug/,
    ],
    [
      "has a promise that nobody catches",
      'void Promise.reject(new Error("a bug"))',
      /uncaught: Error: a bug/,
    ],
    ["is refused something", 'void fetch("/v1/machines")', /GET \/v1\/machines → 403/],
    [
      "asks somebody else",
      'void fetch("https://example.invalid/").catch(() => {})',
      /policy: connect-src forbids https:\/\/example\.invalid/,
    ],
    [
      "sets a style that is inline",
      'void document.body.setAttribute("style", "color: red")',
      /policy: style-src-attr forbids inline/,
    ],
    [
      "adds a script that is inline",
      'const script = document.createElement("script"); script.append("1"); document.body.append(script)',
      /policy: (require-trusted-types-for|script-src-elem) forbids/,
    ],
    [
      "makes HTML of a text",
      'try { document.body.innerHTML = "<b>text</b>"; } catch {}',
      /policy: require-trusted-types-for forbids/,
    ],
  ])("%s → its test fails, unless it expects that", async (_situation, script, fault) => {
    const run = (isExpected: boolean) =>
      open({ url: worker.url }, async ({ page, expectFault, faults }) => {
        expectFault(/^GET \/v1\/session → /);
        if (isExpected)
          for (const line of [fault, /^console: .*(Content Security Policy|Fetch API|Trusted)/])
            expectFault(line);
        await page.goto("/");
        await page.evaluate(script);
        await vi.waitFor(() => expect(faults().join("\n")).toMatch(fault), { timeout: 20_000 });
      });
    await expect(run(false)).rejects.toThrow(fault);
    await run(true);
  });

  it.each([
    ["a picture without a text", "img", /^image-alt: .*img/],
    ["a button without a name", "button", /^button-name: .*button/],
  ])("with %s → axe says so", (_situation, element, fault) =>
    open({ url: worker.url }, async ({ page, expectFault, accessibilityFaults }) => {
      expectFault(/^GET \/v1\/session → /);
      await page.goto("/");
      await page.evaluate(`document.body.append(document.createElement("${element}"))`);
      expect(await accessibilityFaults()).toEqual([expect.stringMatching(fault)]);
    }),
  );

  it("whose wire is cut → reaches nothing, until it is restored", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      expectFault(/net::ERR_|^GET \/v1\/session → /);
      await page.goto("/", { waitUntil: "networkidle" });
      const status = () => page.evaluate<number>("fetch('/livez').then(({ status }) => status, () => 0)");
      expect(await status()).toBe(200);
      worker.cut();
      expect(await status()).toBe(0);
      worker.restore();
      expect(await status()).toBe(200);
    }));
});

describe("machines", () => {
  const states = async () => {
    const { stdout } = await worker.rollcall(["nodes", "-o", "json"]);
    const { machines } = JSON.parse(stdout) as { machines: { name: string; state: string }[] };
    return Object.fromEntries(machines.map(({ name, state }) => [name, state]));
  };
  const become = (expected: object) =>
    vi.waitFor(async () => expect(await states()).toMatchObject(expected), {
      timeout: 30_000,
      interval: 200,
    });

  it("join, fall silent, return, are short of memory, and are asked for", async () => {
    await worker.machineJoins("edge-1");
    await worker.machineJoins("edge-2");
    await become({ "edge-1": "ready", "edge-2": "ready" });
    await worker.machineFallsSilent("edge-2");
    await worker.fault("edge-1", "not ready");
    await become({ "edge-1": "not-ready", "edge-2": "silent" });
    await worker.machineReturns("edge-2");
    await worker.fault("edge-1", undefined);
    await worker.pressure("edge-2", true);
    await become({ "edge-1": "ready", "edge-2": "ready" });
    const { stdout } = await worker.rollcall(["nodes", "--condition", "MemoryPressure", "-o", "name"]);
    expect(stdout).toBe("edge-2\n");
    await worker.anotherAsks("edge-1");
    expect((await worker.rollcall(["nodes", "--state", "pending", "-o", "name"])).stdout).toBe("edge-1\n");
  });

  it("that do not exist fill the index, and change", async () => {
    await worker.fillIndex(200);
    await become({ "machine-000000": "silent", "machine-000001": "ready", "machine-000050": "silent" });
    await worker.changeIndex(3);
    await worker.changeIndex(2);
    await become({ "machine-000002": "silent", "machine-000003": "ready", "machine-000004": "silent" });
  });
});
