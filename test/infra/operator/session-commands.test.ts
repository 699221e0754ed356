// Tests rollcall page and rollcall sessions: their requests, and their output.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it, test } from "vitest";
import { sessionCommands } from "../../../infra/operator/session-commands.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { type FakeWorker, fakeWorker, play, playAlone } from "./played.ts";

const session = {
  id: "3q2-7wAAAAAAAAAAAAAAAA",
  who: "operator alice",
  role: "view",
  createdAt: "2026-01-01T00:00:00.000Z",
  expiresAt: "2026-01-01T12:00:00.000Z",
  address: "203.0.113.7",
  browser: "Firefox\u001b[2J",
  isThis: false,
};
const made = { code: "AbC-_0123456789abcdefg", expiresAt: "2026-01-01T12:10:00.000Z" };
const REFUSED = {
  title: "This needs the operator's credentials",
  reason: "forbidden",
  detail: "Send a secret.",
};

const folder = mkdtempSync(join(tmpdir(), "rollcall-sessions-"));
let worker: FakeWorker;
let sessions: unknown[];
let mayMake: boolean;
beforeAll(async () => {
  worker = await fakeWorker(({ method, path }) => {
    if (path === "/v1/session/codes")
      return mayMake ? { status: 201, body: made } : { status: 403, body: REFUSED };
    if (method === "GET") return { body: { sessions } };
    return path.endsWith("/gone")
      ? { status: 404, body: { reason: "not-found", title: "Not found" } }
      : { status: 204 };
  });
});
afterAll(() => {
  worker.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  worker.asked.length = 0;
  sessions = [session];
  mayMake = true;
});
const run = (args: string[]) => play(args, { url: worker.url });

it("page → a link with the code in its fragment, and until when it is good", async () => {
  expect(await run(["page"])).toEqual({
    code: 0,
    stdout: `${worker.url}/#code=${made.code}\n`,
    stderr: `valid once, until ${made.expiresAt}\n`,
  });
  expect(worker.asked).toMatchObject([
    { method: "POST", path: "/v1/session/codes", headers: { authorization: "Bearer secret" }, body: null },
  ]);
});

test.each<[situation: string, opened: Result<null>, code: number, message: string]>([
  ["a browser opens", success(null), 0, ""],
  [
    "no browser opens",
    failure("xdg-open opens no browser here"),
    1,
    "rollcall: xdg-open opens no browser here\n",
  ],
])("page --open, and %s → the link as well", async (_, opened, code, message) => {
  const links: string[] = [];
  const openIn = (link: string) => {
    links.push(link);
    return Promise.resolve(opened);
  };
  const secret = join(folder, "secret");
  writeFileSync(secret, "secret", { mode: 0o600 });
  const connection = ["--url", worker.url, "--secret-file", secret];
  const ended = await playAlone(
    (program) => sessionCommands(program, openIn),
    ["page", "--open", ...connection],
  );
  const link = `${worker.url}/#code=${made.code}`;
  expect(ended).toEqual({
    code,
    stdout: `${link}\n`,
    stderr: `valid once, until ${made.expiresAt}\n${message}`,
  });
  expect(links).toEqual([link]);
});

it("page -o json → the link as well", async () => {
  const { stdout, stderr } = await run(["page", "-o", "json"]);
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({ link: `${worker.url}/#code=${made.code}`, ...made });
});

it("page, by whoever may make no code → the Worker's words", async () => {
  mayMake = false;
  expect(await run(["page"])).toMatchObject({
    code: 4,
    stdout: "",
    stderr: expect.stringContaining("Send a secret") as string,
  });
});

it("sessions list → a table, harmless to a terminal; of none a line", async () => {
  const { stdout } = await run(["sessions", "list"]);
  const [head, line] = stdout.split("\n");
  expect(head).toMatch(/^ID +WHO +ROLE +CREATED +EXPIRES +ADDRESS +BROWSER$/);
  expect(line).toMatch(
    /^3q2-7wAAAAAAAAAAAAAAAA +operator alice +view +2026\S+ +2026\S+ +203\.0\.113\.7 +Firefox/,
  );
  expect(stdout).not.toContain("\u001b");
  sessions = [];
  expect((await run(["sessions", "list"])).stdout).toBe("no sessions\n");
});

it("sessions list -o json → as the Worker sent it", async () => {
  expect(JSON.parse((await run(["sessions", "list", "-o", "json"])).stdout)).toEqual({ sessions: [session] });
});

test.each<[args: string[], code: number, message: RegExp]>([
  [["sessions", "revoke", session.id], 0, /^session 3q2-7wAAAAAAAAAAAAAAAA is revoked\n$/],
  [["sessions", "revoke", "gone"], 3, /no session gone/],
  [["sessions", "revoke"], 2, /missing required argument/],
])("%j → %i", async (args, code, says) => {
  const ended = await run(args);
  expect(ended.code).toBe(code);
  expect(ended.stdout + ended.stderr).toMatch(says);
});
