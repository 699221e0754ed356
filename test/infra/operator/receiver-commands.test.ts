// Tests rollcall receivers: its requests, which the Worker's own schemas accept, and its output.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it, test } from "vitest";
import { newReceiverSchema, receiverChangeSchema } from "../../../shared/protocol/receiver-api.ts";
import { type FakeWorker, fakeWorker, play, type Played } from "./played.ts";

const listed = {
  name: "site-b",
  format: "slack",
  url: "https://hooks.slack.com/…",
  hasAuthorization: false,
  selector: "site=b",
  names: "",
  states: ["silent"],
  outagesOnly: true,
  delaySeconds: 0,
  repeatMinutes: 0,
  waiting: 2,
  dead: 1,
  dropped: 0,
  firing: 3,
  failingSince: "2026-01-01T09:00:00Z",
  error: "HTTP 500",
  nextAttemptAt: "2026-01-01T12:01:00Z",
  lastDelivery: { at: "2026-01-01T11:00:00Z", arrived: false, error: "HTTP 500", isTest: false },
};
const letter = {
  id: 17,
  message: "5b1c2b0e",
  madeAt: "2026-01-01T10:00:00Z",
  state: "dead",
  error: "HTTP 400",
  body: '{"text":"\u001b[31medge-7"}',
};

let worker: FakeWorker;
let arrived: boolean;
let secret: string | null;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-receivers-"));
  writeFileSync(join(folder, "address"), "https://hooks.slack.com/services/T0/B0/x\n", { mode: 0o600 });
  writeFileSync(join(folder, "open"), "https://hooks.slack.com/services/T0/B0/x\n", { mode: 0o644 });
  writeFileSync(join(folder, "header"), "Bearer s3cret\n", { mode: 0o600 });
  worker = await fakeWorker(({ method, path }) => {
    if (path.includes("/nobody") || path.endsWith("/99/resend"))
      return { status: 404, body: { reason: "not-found", title: "Not found" } };
    if (path === "/v1/receivers" && method === "GET") return { body: { receivers: [listed] } };
    if (path.endsWith("/test"))
      return { body: { arrived, status: arrived ? 200 : null, answer: "ok\u001b[0m", tookMs: 84 } };
    if (path.endsWith("/letters")) return { body: { letters: [letter] } };
    if (method === "POST" && path === "/v1/receivers")
      return { status: 201, body: { ...listed, secret: "whsec_x" } };
    return method === "PUT" ? { body: { ...listed, secret } } : { status: 204 };
  });
});
afterAll(() => {
  worker.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  worker.asked.length = 0;
  [arrived, secret] = [true, null];
});
const run = (line: string, played: Played = {}) =>
  play(["receivers", ...line.replaceAll("@", folder).split(" ")], { url: worker.url, ...played });
const asked = () => worker.asked.map(({ method, path, body }) => ({ method, path, body }));

it("list → a table, and all settings where it is wide", async () => {
  const { stdout } = await run("list");
  expect(stdout.split("\n")).toEqual([
    "NAME     FORMAT   TO                          MACHINES   STATE        FIRING   QUEUED   FAILED   ERROR      LAST",
    "site-b   slack    https://hooks.slack.com/…   site=b     failing 3h   3        2        1        HTTP 500   60m",
    "",
  ]);
  expect((await run("list -o name")).stdout).toBe("site-b\n");
  expect((await run("list -o csv")).stdout).toContain(
    "2026-01-01T09:00:00Z,3,2,1,HTTP 500,silent,yes,0s,never,0,2026-01-01T11:00:00Z",
  );
});

test.each<[string, object | null | undefined, string, string]>([
  ["without a delivery", null, "untried", "-"],
  ["whose test arrived", { arrived: true, error: "", isTest: true }, "ok", "test 60m"],
  ["whose test failed", { arrived: false, error: "HTTP 500", isTest: true }, "failed", "test 60m"],
  ["whose delivery was refused", { arrived: false, error: "HTTP 400", isTest: false }, "failed", "60m"],
  ["of an earlier Worker", undefined, "ok", "-"],
])("list of a receiver %s → its state and its last delivery", async (_, last, state, age) => {
  const before = { ...listed };
  const lastDelivery = last && { at: "2026-01-01T11:00:00Z", ...last };
  Object.assign(listed, { failingSince: null, error: "", lastDelivery });
  const [head = "", row = ""] = (await run("list")).stdout.split("\n");
  Object.assign(listed, before);
  const cell = (name: string) => row.slice(head.indexOf(name)).split(/ {2,}/)[0];
  expect([cell("STATE"), cell("LAST")]).toEqual([state, age]);
});

test.each<[line: string, body: object]>([
  ["--to https://example.com/hook", { url: "https://example.com/hook" }],
  [
    "--to-file @/address --format slack -l site=b --state silent,blocked --outages-only --with-diagnosis --delay 0s",
    {
      url: "https://hooks.slack.com/services/T0/B0/x",
      format: "slack",
      selector: "site=b",
      states: ["silent", "blocked"],
      outagesOnly: true,
      withDiagnosis: true,
      delaySeconds: 0,
    },
  ],
  [
    "--to https://example.com/ --names edge-* --delay 5m --repeat 1h --authorization-file @/header",
    {
      url: "https://example.com/",
      names: "edge-*",
      delaySeconds: 300,
      repeatMinutes: 60,
      authorization: "Bearer s3cret",
    },
  ],
])("add %s → asks for that alone, and prints the secret alone", async (line, body) => {
  expect(await run(`add ops ${line}`)).toEqual({ code: 0, stdout: "whsec_x\n", stderr: "" });
  expect(asked()).toEqual([{ method: "POST", path: "/v1/receivers", body: { name: "ops", ...body } }]);
  expect(newReceiverSchema.safeParse(asked()[0]?.body).error).toBeUndefined();
});

const settings = {
  format: "slack",
  selector: "site=b",
  names: "",
  states: ["silent"],
  outagesOnly: true,
  delaySeconds: 0,
};
test.each<[line: string, made: string | null, body: object, message: string]>([
  ["--delay 2m", null, { ...settings, repeatMinutes: 0, delaySeconds: 120 }, "receiver site-b is changed\n"],
  [
    "--no-outages-only --names edge-*",
    null,
    { ...settings, repeatMinutes: 0, outagesOnly: false, names: "edge-*" },
    "receiver site-b is changed\n",
  ],
  // Alertmanager forgets alerts, so its format decides how often alerts are sent again.
  ["--format alertmanager", null, { ...settings, format: "alertmanager" }, "receiver site-b is changed\n"],
  ["--new-secret", "whsec_y", { ...settings, repeatMinutes: 0, newSecret: true }, "whsec_y\n"],
])("change %s → all else stays", async (line, made, body, says) => {
  secret = made;
  expect(await run(`change site-b ${line}`)).toEqual({ code: 0, stdout: says, stderr: "" });
  expect(asked()[1]).toEqual({ method: "PUT", path: "/v1/receivers/site-b", body });
  expect(receiverChangeSchema.safeParse(body).error).toBeUndefined();
});

test.each<[situation: string, line: string, code: number, message: RegExp, played?: Played]>([
  ["a test that arrives", "test site-b", 0, /^arrived after 84 ms: HTTP 200 ok[ -~\uFFFD]*\n$/],
  [
    "letters",
    "letters site-b",
    0,
    /^ID +MADE +STATE +ERROR +BODY\n17 +120m +dead +HTTP 400 +[ -~\uFFFD]+\n$/,
  ],
  ["a delivery", "resend site-b 17", 0, /^delivery 17 is sent again\n$/],
  ["a delivery that is not there", "resend site-b 99", 3, /has no failed delivery 99/],
  ["a delivery that is none", "resend site-b x", 2, /whole number/],
  ["a removal", "remove site-b --yes", 0, /^receiver site-b is removed\n$/],
  ["a removal that nobody agrees to", "remove site-b", 1, /deliveries are removed. There is no terminal/],
  ["a yes", "remove site-b", 0, /Go on\?.*receiver site-b is removed|is removed/, { types: "y" }],
  ["nobody of that name", "test nobody", 3, /no receiver nobody/],
  ["a change of nobody", "change nobody --delay 1m", 3, /no receiver nobody/],
  ["no address", "add ops", 2, /--to ADDRESS, or --to-file FILE/],
  ["two addresses", "add ops --to https://a.test --to-file @/address", 2, /not both/],
  ["an address that others can read", "add ops --to-file @/open", 2, /chmod 600/],
  ["an address that is not there", "add ops --to-file @/none", 2, /ENOENT/],
  ["a form that is none", "add ops --to https://a.test --format xml", 2, /json, slack, alertmanager/],
  ["a length of time that is none", "add ops --to https://a.test --delay soon", 2, /must be a duration/],
])("%s → %s ends with %i", async (_, line, code, says, played) => {
  const ended = await run(line, played);
  expect(ended.code).toBe(code);
  expect(ended.stdout + ended.stderr).toMatch(says);
});

it("a test that does not arrive → 1, and why", async () => {
  arrived = false;
  expect(await run("test site-b")).toMatchObject({ code: 1, stdout: expect.stringMatching(/^not arrived/) });
});
