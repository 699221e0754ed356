// Tests node-shim join: the file with the join token, and who else can read or change it.
import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join as joinPaths } from "node:path";
import { afterEach, beforeEach, expect, it, test } from "vitest";
import { join, NotApproved } from "../../../node-shim/commands/join.ts";
import { storedPending } from "../../../node-shim/identity/identity.ts";
import { lockFolder } from "../../../node-shim/identity/lock.ts";
import { workerOrigin } from "../../../node-shim/worker-link/origin.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { withoutWaits } from "../base/timers.ts";

const isRoot = process.geteuid?.() === 0;
const TOKEN = `rcj1_${"A".repeat(43)}`;

let folder: { path: string; remove: () => void };
let server: Server;
let asked: number;
/** The answers before the enrolment's answer. */
let refusals: { status: number; reason: string; detail: string; retryAfterSeconds: number }[];
beforeEach(async () => {
  folder = temporaryFolder();
  asked = 0;
  refusals = [];
  server = createServer((request, response) => {
    asked++;
    const refused = refusals.shift();
    if (refused) response.writeHead(refused.status, { "retry-after": String(refused.retryAfterSeconds) });
    request.resume().once("end", () => response.end(JSON.stringify(refused ?? { kid: "k", ticket: "t" })));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
  folder.remove();
});
const file = () => joinPaths(folder.path, "tokens/token");

/** Joins with a join token's file that has this mode and group. Returns the warnings. */
async function joined(mode: number, gid = process.getegid?.() ?? 0): Promise<string[]> {
  mkdirSync(joinPaths(folder.path, "tokens"), { mode: 0o755 });
  writeFileSync(file(), `${TOKEN}\n`);
  if (isRoot) chownSync(file(), 0, gid);
  chmodSync(file(), mode);
  const warned: string[] = [];
  const { port } = server.address() as AddressInfo;
  const flags = { url: `http://127.0.0.1:${port}`, hostnameOverride: "edge-7", joinTokenFile: file() };
  const state = joinPaths(folder.path, "state");
  const line = await join({ ...flags, state }, (message) => warned.push(message));
  expect(line).toMatch(/^enrolled as edge-7 at http/);
  return warned;
}

test.each<[mode: number, isWarned: boolean]>([
  [0o600, false],
  [0o400, false],
  [0o604, true],
  [0o644, true],
])("a token's file of mode %o → enrolled, with a warning: %s", async (mode, isWarned) => {
  const text = `--join-token-file ${file()} can be read by other users (mode ${mode.toString(8)}): chmod 600 ${file()}, and ask your operator for another token`;
  expect(await joined(mode)).toEqual(isWarned ? [text] : []);
});

it("many machines enrol at once → waits for its turn with the Worker's estimate, more often than it tries", async () => {
  const busy = (retryAfterSeconds: number) => ({
    status: 503,
    reason: "busy",
    detail: `About ${retryAfterSeconds} s: 1,900 machines are ahead.`,
    retryAfterSeconds,
  });
  refusals = [busy(5), busy(4), busy(3), busy(1)];
  withoutWaits(5000);
  const waits = [5, 4, 3, 1].map((s) => `waiting to enrol: About ${s} s: 1,900 machines are ahead.`);
  expect(await joined(0o600)).toEqual(waits);
  expect(asked).toBe(5);
});

it.each([
  ["without a service → nothing is stored for one", false, null],
  ["with a service → the service can enrol by itself", true, { joinToken: TOKEN }],
])("the name is another machine's, %s", async (_, mayWait, stored) => {
  refusals = [
    { status: 409, reason: "name-pinned", detail: "An operator has to approve.", retryAfterSeconds: 1 },
  ];
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const state = joinPaths(folder.path, "state");
  const token = joinPaths(folder.path, "token");
  writeFileSync(token, TOKEN, { mode: 0o600 });
  const flags = { url, state, hostnameOverride: "edge-7", joinTokenFile: token };
  await expect(join(flags, () => undefined, mayWait)).rejects.toThrow(NotApproved);
  expect(storedPending(state)).toEqual(stored && { ...stored, origin: url });
  const waiting = lockFolder(state);
  await expect(join(flags, () => undefined, mayWait)).rejects.toThrow(
    stored ? /^edge-7 waits for .* no second join\. .* is in use by process/ : /^\/\S+ is in use by process/,
  );
  waiting.release();
  if (stored) expect(workerOrigin({ state })).toBe(url);
  await join(flags, () => undefined);
  expect(storedPending(state)).toBeNull();
});

it("a proxy answers 503 with a Retry-After of an hour → the third attempt fails after seconds, without a long wait", async () => {
  const outage = { status: 503, reason: "internal", detail: "", retryAfterSeconds: 3600 };
  refusals = [outage, outage, outage];
  withoutWaits(5000);
  await expect(joined(0o600)).rejects.toThrow();
  expect(asked).toBe(3);
});

it.runIf(isRoot)("another group can read the token's file → a warning (only as root)", async () => {
  expect(await joined(0o640, 0)).toEqual([]);
  rmSync(folder.path, { recursive: true });
  mkdirSync(folder.path, { mode: 0o700 });
  expect(await joined(0o640, 4711)).toEqual([
    expect.stringContaining("can be read by other users (mode 640)"),
  ]);
});

it("others can write the token's file → not enrolled, and no request", async () => {
  await expect(joined(0o606)).rejects.toThrow(
    `--join-token-file ${file()} is not trusted: ${file()} can be written by others (mode 606): chmod go-w, or pass the token to --join-token-file - (standard input)`,
  );
  expect(asked).toBe(0);
});
