// Tests that a Worker in workerd sends notifications to an HTTP receiver and to a real Alertmanager.
import { spawn, spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../infra/local/ports.ts";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import { enrol } from "../../node-shim/worker-link/requests.ts";
import { type Alert, messageText } from "../../shared/fleet/alert.ts";
import { eventually, temporaryFolder } from "./local-cluster.ts";
import type { WorkerAccess } from "./own-worker.ts";
import { pageReader } from "./page-reader.ts";
import { thisRun } from "./run-record.ts";
import { sharedPlace } from "./shared-place.ts";

/** The names of this file's receivers of notifications. */
const RECEIVERS = new Set(["ops", "revocations", "moved", "site-b", "am"]);
const folder = temporaryFolder();
const got: { headers: IncomingHttpHeaders; body: string; url: string }[] = [];
let worker: WorkerAccess;
let receiver: Server;

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      got.push({ headers: request.headers, body, url: request.url ?? "" });
      if (request.url === "/redirects") response.writeHead(302, { location: "/elsewhere" }).end();
      else response.writeHead(200).end("thank you");
    });
  });
  await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done));
  ({ worker } = await sharedPlace());
});
afterAll(async () => {
  // Other test files use the same Worker: their events must not be sent to this file's receivers afterwards.
  const { receivers } = await ask<{ receivers: { name: string }[] }>("GET", "/v1/receivers");
  for (const { name } of receivers.filter(({ name }) => RECEIVERS.has(name)))
    await worker.rollcall(["receivers", "remove", name, "--yes"]);
  receiver.close();
  folder.remove();
});

const lastAt = (path: string) => got.findLast(({ url }) => url === path);
const receiverUrl = (path: string) => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;

async function ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${worker.adminSecret}` };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  return (await (await fetch(worker.url + path, init)).json()) as Answer;
}

describe("a message of a Worker in workerd", () => {
  it("→ arrives at this computer, signed", async () => {
    const { secret } = await ask<{ secret: string }>("POST", "/v1/receivers", {
      name: "ops",
      url: receiverUrl("/in"),
    });
    expect(await ask("POST", "/v1/receivers/ops/test")).toMatchObject({
      arrived: true,
      status: 200,
      answer: "thank you",
    });
    const { headers, body } = lastAt("/in")!;
    const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    expect(headers["webhook-signature"]).toBe(
      `v1,${createHmac("sha256", key).update(signed).digest("base64")}`,
    );
    expect(JSON.parse(body)).toMatchObject({ version: 1, receiver: "ops", isTest: true, alerts: [] });
  });

  it("about a machine that is revoked → is sent without a request, to the receiver that subscribed to revocations", async () => {
    await ask("POST", "/v1/receivers", {
      name: "revocations",
      url: receiverUrl("/revocations"),
      states: ["revoked"],
      delaySeconds: 0,
    });
    const { token } = await ask<{ token: string }>("POST", "/v1/tokens", {
      names: "notified-*",
      uses: 1,
      expiresInSeconds: 600,
    });
    thisRun().secret("join token", token);
    const { send, close } = httpTransport(worker.url, 9000);
    const wish = { name: "notified-1", origin: worker.url, machineID: "m-1", systemUUID: "s-1" };
    expect(await enrol(send, await makeMachineKey(), { ...wish, joinToken: token })).toMatchObject({
      ok: true,
    });
    close();
    const headers = { authorization: `Bearer ${worker.adminSecret}` };
    await fetch(`${worker.url}/v1/nodes/notified-1/revoke`, { method: "POST", headers });
    const { body } = await eventually(async () => lastAt("/revocations"));
    expect(JSON.parse(body)).toMatchObject({
      alerts: [{ status: "firing", kind: "machine", name: "notified-1", state: "revoked" }],
    });
  });

  it("that is redirected → is not followed", async () => {
    await ask("POST", "/v1/receivers", { name: "moved", url: receiverUrl("/redirects") });
    expect(await ask("POST", "/v1/receivers/moved/test")).toMatchObject({ arrived: false, status: 302 });
    expect(got.map(({ url }) => url)).not.toContain("/elsewhere");
  });
});

describe("a receiver, made as docs/notifications.md shows", () => {
  const PAGE = "docs/notifications.md";
  it("by a request, and by the command line → its message arrives", async () => {
    const reader = pageReader(worker);
    try {
      const secrets = (text: string) => {
        for (const [secret] of text.matchAll(/whsec_[\w+/=]+/g))
          thisRun().secret("receiver's secret", secret);
        return text;
      };
      const own = {
        "https://rollcall.example.com": worker.url,
        "https://hooks.slack.com/services/T0/B0/x": receiverUrl("/slack"),
      };
      const printed = await reader.run(PAGE, "Notifications", { own, env: { ADMIN: worker.adminSecret } });
      expect(secrets(printed)).toMatch(
        /"secret":"whsec_[^]*"arrived":true,"status":200,"answer":"thank you"/,
      );
      expect(JSON.parse(lastAt("/slack")!.body)).toHaveProperty("text");
      await reader.sh("rollcall receivers remove site-b --yes");
      const [address, secret] = ["slack-address", "site-b-secret"].map((name) => join(reader.home, name));
      writeFileSync(address!, receiverUrl("/slack-again"), { mode: 0o600 });
      await reader.run(PAGE, "Notifications", {
        nth: 1,
        own: { "slack-address": address!, "site-b-secret": secret! },
      });
      expect(secrets(readFileSync(secret!, "utf8"))).toMatch(/^whsec_/);
      expect(got.map(({ url }) => url)).toContain("/slack-again");
    } finally {
      reader.remove();
    }
  });
});

const isAlertmanagerThere = spawnSync("prometheus-alertmanager", ["--version"]).status === 0;

describe.skipIf(!isAlertmanagerThere)("Alertmanager", () => {
  it("→ has what is firing, once, and drops it once it has ended", async () => {
    const port = await freePort();
    const file = join(folder.path, "alertmanager.yml");
    writeFileSync(file, "route: { receiver: nobody }\nreceivers: [{ name: nobody }]\n");
    const flags = [
      `--config.file=${file}`,
      `--storage.path=${folder.path}/alertmanager`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--cluster.listen-address=",
    ];
    const child = spawn("prometheus-alertmanager", flags, { stdio: "ignore" });
    const ended = new Promise((done) => child.once("close", done));
    const url = `http://127.0.0.1:${port}/api/v2/alerts`;
    try {
      await eventually(async () => (await fetch(url)).ok);
      const nowMs = Date.now();
      const firing: Alert = {
        id: "a-1",
        status: "firing",
        isRepeated: false,
        kind: "machine",
        name: "edge-1",
        state: "silent",
        severity: "warning",
        sinceMs: nowMs,
        untilMs: null,
        machines: 1,
        names: ["edge-1"],
        address: "",
        why: "",
      };
      const post = async (alert: Alert) => {
        const message = {
          id: "m",
          deployment: "rollcall",
          origin: worker.url,
          receiver: "am",
          atMs: nowMs,
          dropped: 0,
        };
        const body = messageText("alertmanager", { ...message, alerts: [alert] });
        return (await fetch(url, { method: "POST", body, headers: { "content-type": "application/json" } }))
          .status;
      };
      const active = async () => (await (await fetch(url)).json()) as { labels: object; endsAt: string }[];
      expect([await post(firing), await post({ ...firing, isRepeated: true })]).toEqual([200, 200]);
      const labels = {
        alertname: "RollcallMachine",
        machine: "edge-1",
        state: "silent",
        severity: "warning",
        deployment: "rollcall",
      };
      const [alert, ...others] = await eventually(async () => {
        const alerts = await active();
        return alerts.length > 0 && alerts;
      });
      expect([alert, others]).toMatchObject([{ labels }, []]);
      expect(Date.parse(alert!.endsAt) - nowMs).toBeGreaterThan(300 * 24 * 3600_000);
      expect(await post({ ...firing, status: "resolved", untilMs: nowMs })).toBe(200);
      await eventually(async () => (await active()).length === 0);
      await ask("POST", "/v1/receivers", { name: "am", url, format: "alertmanager" });
      expect(await ask("POST", "/v1/receivers/am/test")).toMatchObject({ arrived: true, status: 200 });
      const [test] = await eventually(async () => {
        const alerts = await active();
        return alerts.length > 0 && alerts;
      });
      expect(test!.labels).toEqual({ alertname: "RollcallTest", deployment: "rollcall", severity: "none" });
    } finally {
      child.kill("SIGTERM");
      await ended;
    }
  });
});
