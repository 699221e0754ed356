// Tests the apiserver as a program: the line that it prints, its folder, its exit codes, and the data that remain
// after a kill.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createHttpsClient } from "../../../../infra/local/https-fetch.ts";
import { fieldsOf, textOf } from "../../../../../infra/local/apiserver/object.ts";
import { send, type TestServer } from "../../../../infra/local/apiserver/test-server.ts";

let dir: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "apiserver-main-"));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(dir, { recursive: true });
});

function run(...args: string[]) {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, "../../../../../infra/local/apiserver/main.ts"), ...args],
    {
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  children.push(child);
  return child;
}

async function exitOf(child: ChildProcess): Promise<number | string | null> {
  return await new Promise((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
}

/** Starts the program. Returns once it has printed its line. */
async function start() {
  const child = run("--data", dir);
  const url = await new Promise<string>((resolve, reject) => {
    let printed = "";
    child.stdout.on("data", (chunk) => {
      printed += String(chunk);
      const line = /^listening on (https:\/\/127\.0\.0\.1:\d+)\n/.exec(printed);
      if (line?.[1]) resolve(line[1]);
    });
    child.once("close", () => reject(new Error(`ended early: ${printed}`)));
  });
  const client = createHttpsClient(join(dir, "ca.crt"));
  const token = readFileSync(join(dir, "admin-token"), "utf8");
  const server: TestServer = { url, token, fetch: client.fetch };
  return { child, client, server };
}

test("killed → the next start has all that it had answered; SIGTERM ends that one with 0 while a client watches", async () => {
  const first = await start();
  for (const file of ["admin-token", "server.key", "service-account.key"])
    expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600);
  const body = { metadata: { name: "a" } };
  expect(await send(first.server, { method: "POST", path: "/api/v1/nodes", body })).toMatchObject({
    code: 201,
  });
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await send(first.server, { method: "POST", path: accounts, body });
  const requested = await send(first.server, { method: "POST", path: `${accounts}/a/token`, body: {} });
  const token = textOf(fieldsOf(requested.body["status"])["token"]);
  first.client.close();
  const killed = exitOf(first.child);
  first.child.kill("SIGKILL");
  await killed;

  const { child, client, server } = await start();
  expect(server.token).toBe(first.server.token);
  expect(await send(server, { path: "/api/v1/nodes/a" })).toMatchObject({ code: 200 });
  expect(await send(server, { path: "/api", token })).toMatchObject({ code: 200 });
  const headers = { authorization: `Bearer ${server.token}` };
  const watching = await client.fetch(new Request(`${server.url}/api/v1/nodes?watch=true`, { headers }));
  expect(watching.status).toBe(200);
  const ended = exitOf(child);
  child.kill("SIGTERM");
  await watching.text().catch(() => "cut off");
  expect(await ended).toBe(0);
  client.close();
});

test("a port that is taken → 1 and one line", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => {
    other.listen(0, "127.0.0.1", resolve);
  });
  const address = other.address();
  const port = String(typeof address === "object" && address ? address.port : 0);
  const child = run("--data", dir, "--port", port);
  const [code, errors] = await Promise.all([exitOf(child), text(child.stderr)]);
  expect({ code, errors }).toEqual({ code: 1, errors: `apiserver: port ${port} is already in use\n` });
  other.close();
});
