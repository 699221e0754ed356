// Tests node-shim leave: its request to the Worker, the files that it leaves in the state folder, and a second
// leave.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { leaveWorker } from "../../../node-shim/commands/leave.ts";
import { leftName, loadOrMakeKey, storeEnrolment } from "../../../node-shim/identity/identity.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";

let folder: { path: string; remove: () => void };
let server: Server;
let asked: string[];
let answer: { status: number; body: object };
beforeEach(async () => {
  folder = temporaryFolder();
  asked = [];
  answer = { status: 200, body: { left: true } };
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.statusCode = answer.status;
    request.resume().once("end", () => response.end(JSON.stringify(answer.body)));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
  folder.remove();
});

async function enrolled(name = "edge-7"): Promise<{ state: string }> {
  const { thumbprint } = await loadOrMakeKey(folder.path);
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  storeEnrolment(folder.path, { name, thumbprint, kid: "k", origin });
  return { state: folder.path };
}

describe("an enrolled machine leaves", () => {
  it("without a flag → under the name of its enrolment; key, enrolment and status are removed", async () => {
    const flags = await enrolled();
    writeFileSync(join(folder.path, "status.json"), "{}");
    expect(await leaveWorker(flags)).toBe("edge-7 has left; its key is gone");
    expect(asked).toEqual(["POST /v1/nodes/edge-7/leave"]);
    expect(readdirSync(folder.path)).toEqual(["left.json"]);
  });

  it("twice → the second time it sends no request, changes nothing, and prints that", async () => {
    const flags = await enrolled();
    await leaveWorker(flags);
    expect(await leaveWorker(flags)).toBe("edge-7 has left already: nothing has changed");
    expect(asked).toHaveLength(1);
    expect(readdirSync(folder.path)).toEqual(["left.json"]);
  });

  it("a crash after the Worker's answer → the next leave removes the rest, without a request", async () => {
    const flags = await enrolled();
    writeFileSync(join(folder.path, "left.json"), '{"name":"edge-7"}', { mode: 0o600 });
    expect(await leaveWorker(flags)).toBe("edge-7 has left already: nothing has changed");
    expect(asked).toEqual([]);
    expect(readdirSync(folder.path)).toEqual(["left.json"]);
  });

  it("enrols again → it can leave again", async () => {
    const flags = await enrolled();
    await leaveWorker(flags);
    await enrolled("edge-8");
    expect(leftName(folder.path)).toBeNull();
    expect(await leaveWorker(flags)).toBe("edge-8 has left; its key is gone");
    expect(asked).toEqual(["POST /v1/nodes/edge-7/leave", "POST /v1/nodes/edge-8/leave"]);
  });
});

describe("cannot leave → what to do, and the files stay unchanged", () => {
  it("never enrolled → nothing to leave, and no file is made", async () => {
    await expect(leaveWorker({ state: folder.path })).rejects.toThrow(
      `${folder.path} holds no enrolment: nothing to leave; if another folder keeps the enrolment, pass --state`,
    );
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it("another name than the enrolment's → refused, without a request", async () => {
    const flags = { ...(await enrolled()), hostnameOverride: "edge-8" };
    await expect(leaveWorker(flags)).rejects.toThrow(/is enrolled as edge-7/);
    expect(asked).toEqual([]);
  });

  it("the Worker refuses → its message", async () => {
    const flags = await enrolled();
    answer = { status: 403, body: { reason: "key-revoked", title: "This key was revoked" } };
    await expect(leaveWorker(flags)).rejects.toThrow(
      "not left: This key was revoked; try again, or ask your operator to remove the node edge-7",
    );
    expect(readdirSync(folder.path).toSorted()).toEqual(["enrolment.json", "key.json"]);
  });
});
